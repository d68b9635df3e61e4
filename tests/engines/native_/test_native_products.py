"""The C library's products and elementary functions, each against NumPy's in double."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native_engine import given_library, needs_gcc, with_threads
from settled import settled

from cputrain.engines.native_ import library_build
from cputrain.engines.native_.binding import Factor, Functions
from cputrain.engines.native_.products import Given

pytestmark = needs_gcc
NATIVE = settled(engine="native", attention_backend="manual")


@pytest.fixture(scope="module", params=["Ofast native", "O2 generic"])
def library(request):
    level, target = request.param.split()
    return Functions(str(library_build.library(NATIVE.but(cc_level=level, cc_target=target))))


@pytest.fixture(scope="module")
def best():
    return Functions(str(library_build.library(NATIVE)))


def matrix(rng, rows, columns, is_transposed, gap):
    """A matrix in a wider array, and how C is told where it is."""
    held = rng.standard_normal((columns, rows + gap) if is_transposed else (rows, columns + gap))
    held = held.astype(np.float32)
    seen = held[:, :rows].T if is_transposed else held[:, :columns]
    between = held.strides[0] // 4
    where = (1, between) if is_transposed else (between, 1)
    return held, seen, Factor(held.ctypes.data, *where)


def check(library, sizes, turned, add, biased, gap, seed=0, sgemm=None):
    m, n, k = sizes
    rng = np.random.default_rng(seed)
    a_held, a, a_there = matrix(rng, m, k, turned[0], gap)
    b_held, b, b_there = matrix(rng, k, n, turned[1], gap)
    c = rng.standard_normal((m, n + gap), np.float32)
    bias = rng.standard_normal(n, np.float32) if biased else None
    expected, size = c.astype(np.float64), np.abs(a).astype(np.float64) @ np.abs(b)
    expected[:, :n] = a.astype(np.float64) @ b + (expected[:, :n] if add else 0)
    expected[:, :n] += bias if biased else 0
    bias_there = bias.ctypes.data if biased else None
    done = library.multiply(
        *(m, n, k, a_there, b_there, c.ctypes.data, n + gap, add, bias_there, sgemm)
    )
    assert done == 1
    assert np.abs(c[:, :n] - expected[:, :n]).max() <= 1e-6 * (size.max() + 10)
    assert np.array_equal(c[:, n:], expected[:, n:].astype(np.float32))  # nothing beside it
    del a_held, b_held


SIZES = st.tuples(st.integers(1, 150), st.integers(1, 300), st.integers(1, 600))
TURNED = st.tuples(st.booleans(), st.booleans())


@settings(max_examples=40, deadline=None)
@given(SIZES, TURNED, st.booleans(), st.booleans(), st.integers(0, 5), st.integers(0, 9))
def test_products_are_numpys(library, sizes, turned, add, biased, gap, seed):
    check(library, sizes, turned, add, biased, gap, seed)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 2, 60_000), (5, 40_000, 40), (700, 2, 3)])
@pytest.mark.parametrize("turned", [(False, True), (False, False), (True, False), (True, True)])
def test_extreme_shapes(library, sizes, turned):
    with with_threads(2):
        check(library, sizes, turned, True, True, 3)


@settings(max_examples=30, deadline=None)
@given(SIZES, TURNED, st.booleans(), st.booleans(), st.integers(1, 5))
@pytest.mark.parametrize("name", ["openblas"])
def test_products_by_a_library_are_numpys(best, name, sizes, turned, add, biased, gap):
    with pytest.MonkeyPatch.context() as patch:
        given_library(patch, name)
        sgemm = Given.of(NATIVE.but(matmul_backend=name)).address
    with with_threads(2):
        check(best, sizes, turned, add, biased, gap, sgemm=sgemm)


def values(library, of, x):
    y = np.empty_like(x)
    library.elementary(of, x.size, x.ctypes.data, y.ctypes.data)
    return y


def test_exp_is_exact_to_rounding(library):
    x = -np.linspace(0, 86, 200_001).astype(np.float32)
    expected = np.exp(x.astype(np.float64))
    error = np.abs(values(library, 0, x) / expected - 1)
    assert (error <= 3e-7 + 1.5e-7 * np.abs(x)).all()
    assert error[np.abs(x) < 1].max() < 4e-7
    far = values(library, 0, np.array([-100, -1e4, -3e38], np.float32))
    assert (far >= 0).all() and far.max() < 2e-38


def test_the_normal_distribution_is_exact_to_rounding(library):
    x = np.linspace(-12, 12, 100_001).astype(np.float32)
    expected = [0.5 * math.erfc(-value / math.sqrt(2)) for value in x.tolist()]
    actual = values(library, 1, x)
    assert np.abs(actual - expected).max() < 2.5e-7
    assert actual.min() >= 0 and actual.max() <= 1
    assert values(library, 1, np.zeros(1, np.float32))[0] == pytest.approx(0.5, abs=1e-7)
