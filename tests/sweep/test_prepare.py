"""What a sweep measures of the machine, and that it ends in time."""

import json
from pathlib import Path

import pytest
from settled import settled

pytest.importorskip("rich")

from cputrain import environ, paths
from cputrain.errors import UsageError
from cputrain.machine import measure, measurements, peak, topology
from cputrain.sweep import plan, prepare, progress

pytestmark = pytest.mark.tools

ONE_THREAD = settled(cores=1, threads=1)
NOBODY = Path("/nowhere/python")
"""Whoever measures with it fails."""


def cells(*experiments):
    return [plan.PlannedCell((i,), experiment, None) for i, experiment in enumerate(experiments)]


def named(tasks):
    return [str(task) for task in tasks]


def test_peaks_are_those_of_the_types_that_are_multiplied():
    assert prepare.peaks_needed(cells(ONE_THREAD, ONE_THREAD.but(precision="q4"))) == {"fp32": {1}}
    peaks = prepare.peaks_needed(
        cells(ONE_THREAD.but(precision="bf16"), ONE_THREAD.but(precision="q8"))
    )
    assert peaks == {"bf16": {1}, "int8": {1}, "fp32": {1}}


def test_more_threads_than_cores_have_no_peak():
    assert prepare.peaks_needed(cells(ONE_THREAD.but(threads=64))) == {}


def test_what_cells_need_comes_first_then_powers_of_two_and_all(monkeypatch):
    monkeypatch.setattr(prepare, "peaks_needed", lambda cells: {"fp32": {3}, "int8": {1}})
    usual = [f"{kind}:{n}" for kind in ("bandwidth", "fp32", "bf16") for n in (1, 2, 4, 6)]
    assert named(prepare.tasks([], 6)) == ["fp32:3", "int8:1", *usual]
    assert len(prepare.tasks([], 128)) == 2 + 3 * 8
    assert named(prepare.tasks([], 1)) == ["fp32:3", "int8:1", "bandwidth:1", "fp32:1", "bf16:1"]


def test_what_is_known_is_not_measured_again(own_root):
    path = paths.RESULT / "here" / "machine.json"
    path.parent.mkdir(parents=True)
    cores = topology.read_topology().physical_cores
    rates = {str(task.threads): 9e10 for task in prepare.tasks(cells(ONE_THREAD), cores)}
    known = {field: rates for kind, field in measurements.FIELDS.items() if kind != "int8"}
    path.write_text(json.dumps(known))
    prepare.measure_peak("here", NOBODY, cells(ONE_THREAD), progress.Progress())
    with pytest.raises(OSError, match="nowhere"):
        prepare.measure_peak(
            "here", NOBODY, cells(ONE_THREAD.but(precision="q8")), progress.Progress()
        )
    path.write_text(json.dumps({**known, peak.FIELDS["int8"]: rates}))
    prepare.measure_peak("here", NOBODY, cells(ONE_THREAD.but(precision="q8")), progress.Progress())
    with pytest.raises(OSError, match="nowhere"):
        prepare.measure_peak("here", NOBODY, cells(ONE_THREAD), progress.Progress(), again=True)


@pytest.mark.parametrize("again", [False, True])
def test_what_is_missing_is_measured_first(own_root, monkeypatch, again):
    path = paths.RESULT / "here" / "machine.json"
    calls = []

    def stack(python, words, what, only=()):
        calls.append(words)
        return json.dumps({"torch": "t", "bandwidth_bytes_per_s": {"1": 4e10}})

    monkeypatch.setattr(prepare.asvenv, "in_environment", stack)
    rates = {str(n): 9e10 for n in range(1, 4097)}
    measurements.merge(path, {"torch": "t", **dict.fromkeys(peak.FIELDS.values(), rates)})
    prepare.measure_peak("here", NOBODY, cells(ONE_THREAD), progress.Progress(), again=again)
    ((module, _, seconds, *tasks),) = calls
    assert module == "cputrain.machine.measure"
    assert float(seconds) == (prepare.AGAIN_S if again else prepare.FIRST_S)
    assert tasks[0] == "bandwidth:1" and ("fp32:1" in tasks) == again
    assert measurements.read(path)["bandwidth_bytes_per_s"] == {"1": 4e10}
    assert measurements.read(path)["fp32_matmul_flops"]["1"] == 9e10


def test_a_trial_run_may_measure_less(own_root, monkeypatch):
    calls = []

    def stack(python, words, what, only=()):
        calls.append(words)
        return json.dumps({"torch": "t"})

    monkeypatch.setattr(prepare.asvenv, "in_environment", stack)
    monkeypatch.setenv(environ.MEASURE_S, "0.5")
    prepare.measure_peak("here", NOBODY, cells(ONE_THREAD), progress.Progress())
    assert calls[0][1:3] == ["--seconds", "0.5"]
    monkeypatch.setenv(environ.MEASURE_S, "soon")
    with pytest.raises(UsageError, match="'soon': not a number"):
        prepare.measure_peak("here", NOBODY, cells(ONE_THREAD), progress.Progress())


class Machine:
    """A clock and work that takes as long as on a made machine."""

    def __init__(self, fp32, bf16, bytes_per_s):
        self.now = 0.0
        self.flops = {"fp32": fp32, "bf16": bf16, "int8": bf16}
        self.bytes_per_s = bytes_per_s

    def clock(self):
        return self.now

    def taking(self, seconds):
        def run():
            self.now += seconds

        return run

    def do(self, task, seconds):
        from cputrain.machine import bandwidth

        if task.kind == "bandwidth":
            rate = self.bytes_per_s * min(task.threads, 16)
            size = 128 << 20

            def triad(size):
                self.now += 6 * size / rate  # pages are touched first
                return self.taking(3 * size / rate)

            return bandwidth.best_bandwidth(triad, size, seconds, self.clock)
        rate = self.flops[task.kind] * task.threads

        def product(n):
            self.now += 8 * n * n / 4e9
            return self.taking(2 * n**3 / rate)

        return peak.best_rate(product, seconds, clock=self.clock)


@pytest.mark.parametrize(
    ("cores", "machine"),
    [
        (2, (1e11, 4e11, 2e10)),
        (128, (8e10, 1.3e9, 2e10)),  # bf16 without instructions
        (128, (1.5e11, 2e12, 3e10)),
        (4, (1e10, 2e8, 2e9)),
    ],
)
def test_all_of_it_takes_less_than_20_s_on_any_machine(monkeypatch, cores, machine):
    many = {kind: {3, 6, 12, 24, 48, 96, cores} & set(range(cores + 1)) for kind in peak.FIELDS}
    monkeypatch.setattr(prepare, "peaks_needed", lambda cells: many)
    made, tasks, known = Machine(*machine), prepare.tasks([], cores), {}
    for seconds in (prepare.FIRST_S, prepare.AGAIN_S):
        for task, rate in measure.within(tasks, seconds - 1.5, made.do, made.clock):
            if isinstance(rate, float):
                known[task] = max(rate, known.get(task, 0.0))
    assert made.now + 2 * 1.5 < 20
    for task in (task for task in tasks if task.threads in many["fp32"]):
        if task.kind == "fp32":
            assert known[task] == pytest.approx(made.flops["fp32"] * task.threads)
