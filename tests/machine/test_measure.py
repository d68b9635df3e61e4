"""The program that measures: tasks, the time they share, threads bound core by core."""

import json
import os
import subprocess
import sys

import pytest

from cputrain.machine import measure, measurements, topology
from cputrain.machine.reading import Unknown
from cputrain.machine.topology import Cpu, Topology

FP32, TRIAD = measure.Task("fp32", 1), measure.Task("bandwidth", 2)


def run(*words, python=sys.executable):
    command = [python, "-m", "cputrain.machine.measure", *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_time_is_shared_out_and_what_is_left_over_goes_on():
    now, given = [0.0], []

    def do(task, seconds):
        given.append(seconds)
        now[0] += seconds / 2
        return 1.0

    tasks = [measure.Task("fp32", n) for n in (1, 2, 4)]
    assert dict(measure.within(tasks, 3.0, do, lambda: now[0])) == dict.fromkeys(tasks, 1.0)
    assert given == pytest.approx([1.0, 1.25, 1.875])


def test_plenty_of_time_is_not_used_up():
    given = []
    list(measure.within([FP32], 60.0, lambda task, seconds: given.append(seconds), lambda: 0.0))
    assert given == [measure.SECONDS["fp32"]]


def test_without_time_or_memory_there_is_a_reason():
    now = [0.0]

    def do(task, seconds):
        now[0] += 5.0
        raise Unknown("too little memory")

    measured = list(measure.within([TRIAD, FP32], 1.0, do, lambda: now[0]))
    assert measured[0] == (TRIAD, "too little memory")
    assert measured[1][0] == FP32 and "no time was left" in measured[1][1]


@pytest.mark.parametrize("text", ["fp32", "fp32:0", "fp64:1", "fp32:-1", "fp32:1x", ""])
def test_what_is_no_task(text):
    with pytest.raises(ValueError):
        measure.task(text)


def test_threads_take_cores_as_a_mask_of_so_many_would():
    cpus = (Cpu(0, 0, 0, 0), Cpu(1, 1, 1, 1), Cpu(2, 2, 0, 0), Cpu(3, 3, 1, 1), Cpu(4, 0, 0, 0))
    whole = Topology(cpus)
    order = measure.cores_in_order(whole)
    assert order == (0, 2, 1, 3)
    assert all(set(order[:n]) == set(whole.choose(n)) for n in range(1, 5))


def test_the_program_measures_everything_and_binds_its_threads():
    pytest.importorskip("torch")
    cores = min(2, topology.read_topology().physical_cores)
    tasks = ["fp32:1", "bf16:1", "int8:1", f"bandwidth:{cores}"]
    done = run("--seconds", "3", *tasks)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    rates = {
        f"{k}:{n}": v for k, f in measurements.FIELDS.items() for n, v in report.get(f, {}).items()
    }
    assert sorted([*rates, *report["reasons"]]) == sorted(tasks)  # a busy machine leaves no time
    assert 1e8 < rates["fp32:1"] < 1e13
    assert all(1e7 < rate < 1e14 for rate in rates.values())
    assert report["pinned"] is True
    assert report["date"].endswith("+00:00")
    assert report["libraries"]["torch"]["version"] == report["torch"]
    assert "BLAS_INFO" in report["libraries"]["torch"]["build"]
    assert "Build Dependencies" in report["libraries"]["numpy"]["build"]
    assert len(report["flags"].split()) > 5
    assert "clock_ghz" in report


def test_threads_that_are_not_bound_are_told():
    program = """
import os, torch
from cputrain.machine import measure
torch.set_num_threads(2)
torch.ones(1 << 20).add_(1.0)
print(measure.pinned((0, 1)))
"""
    pytest.importorskip("torch")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU is allowed")
    env = {k: v for k, v in os.environ.items() if not k.startswith("OMP_")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize(("masks", "said"), [((0, 0, 1), True), ((0, 0), False)])
def test_a_thread_that_a_bound_one_starts_has_its_cpu_too(masks, said):
    """As seen: two compute threads on a CPU each, and a third with the mask of the first."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU is allowed")
    program = f"""
import os, threading
from cputrain.machine import measure
cpus = sorted(os.sched_getaffinity(0))[:2]
ready, done = threading.Barrier({len(masks) + 1}), threading.Event()
def bound(cpu):
    os.sched_setaffinity(0, {{cpus[cpu]}})
    ready.wait()
    done.wait()
for place in {masks}:
    threading.Thread(target=bound, args=(place,)).start()
ready.wait()
print(measure.pinned(cpus))
done.set()
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert out.stdout == f"{said}\n", out.stderr


@pytest.mark.parametrize("words", [["fp32:5000"], ["fp32:x"], ["--seconds", "x", "fp32:1"], []])
def test_bad_usage(words):
    done = run(*words)
    assert done.returncode == 2 and "error:" in done.stderr.splitlines()[-1]
