"""The measured peak: the best of many readings within its time."""

import pytest

from cputrain.machine import peak


class Bench:
    """A clock and products that take made times: n^3 units, slowed by each reading's factor."""

    def __init__(self, rate, factors=(1.0,)):
        self.now, self.rate, self.factors = 0.0, rate, factors
        self.runs = {}

    def clock(self):
        return self.now

    def product(self, n):
        def run():
            count = self.runs[n] = self.runs.get(n, 0) + 1
            self.now += 2 * n**3 / self.rate * self.factors[count % len(self.factors)]

        return run


def test_the_best_reading_counts():
    bench = Bench(1e13, factors=(3.0, 1.25, 1.0, 2.0))
    assert peak.best_rate(bench.product, 3.5, clock=bench.clock) == pytest.approx(1e13)
    assert set(bench.runs) == set(peak.SIZES)
    assert 3.4 < bench.now < 4.5


def test_a_slow_machine_is_not_kept_waiting():
    bench = Bench(1e8)
    assert peak.best_rate(bench.product, 1.0, clock=bench.clock) == pytest.approx(1e8)
    assert set(bench.runs) == {256}


@pytest.mark.parametrize("rate", [1.3e9, 1e10, 1e11, 1e13])
@pytest.mark.parametrize("seconds", [0.1, 0.5, 2.0])
def test_the_time_is_kept(rate, seconds):
    bench = Bench(rate)
    assert peak.best_rate(bench.product, seconds, clock=bench.clock) == pytest.approx(rate)
    once = 2 * 256**3 / rate
    assert bench.now < 1.2 * seconds + peak.FEWEST * once


@pytest.mark.parametrize("n", [64, 512])
@pytest.mark.parametrize(
    ("kind", "kinds", "largest"),
    [("fp32", "float32", 1), ("bf16", "bfloat16", 1), ("int8", "int32", 127**2)],
)
def test_products_are_of_the_type_that_they_are_called(kind, kinds, largest, n):
    torch = pytest.importorskip("torch")
    out = peak.products(kind)(n)()
    assert (out.shape, str(out.dtype)) == ((n, n), f"torch.{kinds}")
    assert 0 < out.abs().max() <= largest * n
    assert out.unique().numel() > 32 and torch.isfinite(out).all()


def test_bf16_is_read_in_both_layouts_as_either_may_be_ten_times_slower():
    torch = pytest.importorskip("torch")
    product = peak.products("bf16")(64)
    first, second = product().clone(), product().clone()
    assert not torch.equal(first, second)  # a b, and the transpose of a times b
    assert torch.equal(product(), first)
