"""The measured peak: the best of many readings, and the file that keeps it."""

import json
import subprocess
import sys

import pytest

from cputrain.machine import peak
from cputrain.machine.reading import MachineError


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
    bench = Bench(1e12, factors=(3.0, 1.25, 1.0, 2.0))
    assert peak.best_rate(bench.product, clock=bench.clock) == pytest.approx(1e12)
    assert set(bench.runs) == set(peak.SIZES)
    assert bench.now < 2 * peak.SECONDS


def test_a_slow_machine_is_not_kept_waiting():
    bench = Bench(1e8)
    assert peak.best_rate(bench.product, clock=bench.clock) == pytest.approx(1e8)
    assert set(bench.runs) == {512}


def test_measurements_are_merged(tmp_path):
    path = tmp_path / "machine" / "machine.json"
    assert peak.read(path) == {}
    peak.merge(path, {"date": "a", "fp32_matmul_flops": {"2": 2.0, "10": 9.0}})
    path.write_text(json.dumps({**peak.read(path), "bandwidth": 7}))
    whole = peak.merge(path, {"date": "b", "fp32_matmul_flops": {"1": 1.0, "2": 2.5}})
    assert whole == peak.read(path)
    assert whole["fp32_matmul_flops"] == {"1": 1.0, "2": 2.5, "10": 9.0}
    assert list(whole["fp32_matmul_flops"]) == ["1", "2", "10"]
    assert (whole["date"], whole["bandwidth"]) == ("b", 7)


def test_the_better_of_two_readings_stays_until_torch_changes(tmp_path):
    path = tmp_path / "machine.json"
    peak.merge(path, {"torch": "1", "fp32_matmul_flops": {"1": 5.0}})
    lower = peak.merge(path, {"torch": "1", "fp32_matmul_flops": {"1": 3.0}})
    assert lower["fp32_matmul_flops"] == {"1": 5.0}
    other = peak.merge(path, {"torch": "2", "fp32_matmul_flops": {"1": 3.0}})
    assert other["fp32_matmul_flops"] == {"1": 3.0}


def test_each_type_has_a_field_of_its_own_and_old_files_have_fp32_alone(tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(json.dumps({"torch": "1", "fp32_matmul_flops": {"1": 5.0}}))
    assert peak.read(path)["fp32_matmul_flops"] == {"1": 5.0}
    whole = peak.merge(path, {"torch": "1", "int8_matmul_flops": {"1": 9.0}})
    assert whole["fp32_matmul_flops"] == {"1": 5.0}
    assert whole["int8_matmul_flops"] == {"1": 9.0}
    assert "bf16_matmul_flops" not in whole
    other = peak.merge(path, {"torch": "2", "bf16_matmul_flops": {"1": 7.0}})
    assert other == {"torch": "2", "bf16_matmul_flops": {"1": 7.0}}


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"fp32_matmul_flops": 3}', '{"int8_matmul_flops": [1]}'],
)
def test_a_damaged_file_is_one_line(tmp_path, content):
    path = tmp_path / "machine.json"
    path.write_text(content)
    with pytest.raises(MachineError, match="delete it") as caught:
        peak.merge(path, {"fp32_matmul_flops": {"1": 1.0}})
    assert str(path) in str(caught.value)
    assert path.read_text() == content


def test_the_program_measures_every_type(monkeypatch, capsys):
    torch = pytest.importorskip("torch")
    whole = peak.best_rate

    def quick(product, seconds):
        return whole(product, seconds=seconds / 20, sizes=(128, 256))

    monkeypatch.setattr(peak, "best_rate", quick)
    threads = torch.get_num_threads()
    try:
        assert peak.main(["--threads", "1", "--types", "fp32", "bf16", "int8"]) == 0
    finally:
        torch.set_num_threads(threads)
    found = json.loads(capsys.readouterr().out)
    assert 1e9 < found["fp32_matmul_flops"]["1"] < 1e13
    assert all(1e7 < found[field]["1"] < 1e14 for field in peak.FIELDS.values())
    assert found["date"].endswith("+00:00") and found["torch"]


@pytest.mark.parametrize(
    ("kind", "kinds", "largest"),
    [("fp32", "float32", 64.0), ("bf16", "bfloat16", 64.0), ("int8", "int32", 64 * 127**2)],
)
def test_products_are_of_the_type_that_they_are_called(kind, kinds, largest):
    torch = pytest.importorskip("torch")
    out = peak.products(kind)(64)()
    assert (out.shape, str(out.dtype)) == ((64, 64), f"torch.{kinds}")
    assert 0 < out.abs().max() <= largest
    assert out.unique().numel() > 32 and torch.isfinite(out).all()


def test_bf16_without_instructions_does_not_take_long():
    bench = Bench(1.3e9)  # as measured on AVX2
    assert peak.best_rate(bench.product, peak.LOW_SECONDS, clock=bench.clock) > 1.2e9
    assert bench.now < 2.5 * peak.LOW_SECONDS


@pytest.mark.parametrize("threads", ["0", "5000", "x"])
def test_bad_usage(threads):
    command = [sys.executable, "-m", "cputrain.machine.peak", "--threads", threads]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "--threads" in done.stderr
