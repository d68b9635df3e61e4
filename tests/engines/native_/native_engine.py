"""What the tests of the native engine share."""

from contextlib import contextmanager

import pytest
from settled import settled
from threadpoolctl import threadpool_limits

from cputrain.knobs.matmul import VARIABLE
from cputrain.machine import compilers, library_search

needs_gcc = pytest.mark.skipif(
    not compilers.is_here("gcc"), reason=f"gcc is not installed: {compilers.INSTALL['gcc']}"
)


@contextmanager
def with_threads(count):
    """OpenMP's threads, of whatever runtime is loaded."""
    from cputrain import engines
    from cputrain.model.initial import initial_weights

    tiny = settled(
        engine="native", attention_backend="manual", n_layer=1, n_embd=4, n_head=1, seq_len=2
    )
    engines.build(tiny, initial_weights(tiny))  # so that its OpenMP is loaded
    with threadpool_limits(count, user_api="openmp"):
        yield


def given_library(monkeypatch, name):
    """The environment that names a library of products."""
    try:
        monkeypatch.setenv(VARIABLE, str(library_search.find(name)))
    except library_search.Missing as missing:
        pytest.skip(str(missing))
    monkeypatch.setenv("MKL_THREADING_LAYER", "SEQUENTIAL")
    monkeypatch.setenv("MKL_INTERFACE_LAYER", "LP64")
