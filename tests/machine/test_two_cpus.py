"""Which two CPUs are looked at, where, and what a record says elsewhere."""

import contextlib
import os
from pathlib import Path

import pytest

from cputrain.machine import two_cpus
from cputrain.machine.reading import Unknown


def machine(root, flags):
    (root / "proc").mkdir()
    (root / "proc/cpuinfo").write_text(f"processor\t: 0\nflags\t\t: fpu {flags}\n")
    return root


def summed(cpu, other):
    return 10.004 * cpu + other


def test_a_reading_of_a_virtual_machine(tmp_path):
    guest = machine(tmp_path, "hypervisor")
    assert two_cpus.reading("x", [3, 4, 9], summed, guest) == {"x": 39.01}
    reading = two_cpus.reading("x", [3], summed, guest)
    assert reading == {"x": None, "x_reason": "the mask has one CPU"}

    def fails(cpu, other):
        raise Unknown("something else had CPU 3")

    reading = two_cpus.reading("x", [3, 4], fails, guest)
    assert reading == {"x": None, "x_reason": "something else had CPU 3"}


def test_none_of_a_real_machine(tmp_path):
    reading = two_cpus.reading("x", [3, 4], summed, machine(tmp_path, "sse2"))
    assert reading == {"x": None, "x_reason": "no hypervisor is here that could move a CPU"}


def test_the_ends_of_a_mask():
    assert two_cpus.ends([3]) == [] and two_cpus.ends([3, 4, 9]) == [3, 9]


def test_a_function_that_gave_up_had_no_cpu_to_itself():
    cpu = min(os.sched_getaffinity(0))
    seen = []

    def runs(name, done):
        return lambda: seen.append(name) is None and done

    two_cpus.run((cpu, runs("first", True)), (cpu, runs("second", True)))
    assert sorted(seen) == ["first", "second"]
    with pytest.raises(Unknown, match=f"something else had CPU {cpu} or CPU {cpu}"):
        two_cpus.run((cpu, runs("first", True)), (cpu, runs("second", False)))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is all that there is")
def test_no_thread_is_bound_once_it_is_over():
    """The kernel has a thread for a moment longer than `join` waits; a worker looks at all."""
    cpus = sorted(os.sched_getaffinity(0))
    narrow = []
    for _ in range(100):
        two_cpus.run((cpus[0], lambda: True), (cpus[-1], lambda: True))
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                narrow += [task] if len(os.sched_getaffinity(int(task.name))) < len(cpus) else []
    assert narrow == []
