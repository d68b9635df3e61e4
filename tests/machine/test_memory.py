"""Memory that may be taken: the kernel's word, or a cgroup's if that is less."""

import pytest

from cputrain.machine import reading
from cputrain.machine.memory import available_memory, fullest

GIB = 1 << 30


@pytest.fixture
def machine(tree):
    tree.put({"/proc/meminfo": f"MemTotal: {16 << 20} kB\nMemAvailable: {8 << 20} kB"})
    return tree


def test_without_cgroups(machine):
    assert available_memory(machine.root) == 8 * GIB


def test_version_2_the_tightest_of_all_levels(machine):
    machine.put(
        {
            "/proc/self/cgroup": "0::/slice/job",
            "/sys/fs/cgroup/slice/memory.max": 6 * GIB,
            "/sys/fs/cgroup/slice/memory.current": 4 * GIB,
            "/sys/fs/cgroup/slice/memory.stat": f"anon 1\nfile 2\ninactive_file {GIB}",
            "/sys/fs/cgroup/slice/job/memory.max": "max",
            "/sys/fs/cgroup/slice/job/memory.current": 3 * GIB,
        }
    )
    assert available_memory(machine.root) == 3 * GIB
    machine.put({"/sys/fs/cgroup/slice/job/memory.max": 5 * GIB})
    assert available_memory(machine.root) == 2 * GIB
    machine.put({"/sys/fs/cgroup/slice/job/memory.max": 2 * GIB})
    assert available_memory(machine.root) == 0


def test_version_2_in_a_container_whose_path_is_the_hosts(machine):
    machine.put(
        {
            "/proc/self/cgroup": "0::/system.slice/docker-77.scope",
            "/sys/fs/cgroup/memory.max": 2 * GIB,
            "/sys/fs/cgroup/memory.current": GIB,
        }
    )
    assert available_memory(machine.root) == GIB


def test_version_1(machine):
    machine.put(
        {
            "/proc/self/cgroup": "4:memory:/docker/77\n3:cpu,cpuacct:/\n0::/",
            "/sys/fs/cgroup/memory/docker/77/memory.limit_in_bytes": 4 * GIB,
            "/sys/fs/cgroup/memory/docker/77/memory.usage_in_bytes": 3 * GIB,
            "/sys/fs/cgroup/memory/docker/77/memory.stat": f"total_inactive_file {GIB}",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": 9223372036854771712,
            "/sys/fs/cgroup/memory/memory.usage_in_bytes": 9 * GIB,
        }
    )
    assert available_memory(machine.root) == 2 * GIB


def test_a_kernel_that_does_not_say_is_not_zero(tree):
    with pytest.raises(reading.Unknown, match="meminfo"):
        available_memory(tree.root)
    tree.put({"/proc/meminfo": "MemTotal: 1000 kB"})
    with pytest.raises(reading.Unknown, match="MemAvailable"):
        available_memory(tree.root)


def test_this_machine():
    assert 50 << 20 < available_memory() < 1 << 46


def test_the_fullest_is_the_machine_or_a_group_with_less_than_it_has(machine):
    assert fullest(machine.root) == (8 * GIB, 16 * GIB, "this machine")
    machine.put(
        {
            "/proc/self/cgroup": "0::/slice/job",
            "/sys/fs/cgroup/slice/memory.max": 32 * GIB,
            "/sys/fs/cgroup/slice/memory.current": 31 * GIB,
            "/sys/fs/cgroup/slice/job/memory.max": 4 * GIB,
            "/sys/fs/cgroup/slice/job/memory.current": 1 * GIB,
        }
    )
    assert fullest(machine.root).of == "this machine"
    machine.put({"/sys/fs/cgroup/slice/job/memory.current": 3 * GIB})
    use = fullest(machine.root)
    assert use == (3 * GIB, 4 * GIB, "control group /sys/fs/cgroup/slice/job")
    assert use.share == 0.75
    machine.put({"/sys/fs/cgroup/slice/job/memory.stat": f"inactive_file {2 * GIB}"})
    assert fullest(machine.root).of == "this machine"  # a cache that is given back is no use
