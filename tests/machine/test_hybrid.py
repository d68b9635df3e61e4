"""Hybrid processors, as their kernels show them."""

import pytest

from cputrain.commands import doctor
from cputrain.machine import hybrid
from cputrain.machine.topology import read_topology

CPU = "/sys/devices/system/cpu"


def capacities(*each):
    return {f"{CPU}/cpu{id}/cpu_capacity": capacity for id, capacity in enumerate(each)}


@pytest.mark.parametrize(
    ("files", "efficient"),
    [
        ({}, ()),
        # Intel's with two kinds, and with a third on another die.
        ({hybrid.PERFORMANCE: "0-3", hybrid.EFFICIENCY[0]: "4-7"}, (4, 5, 6, 7)),
        (
            {
                hybrid.PERFORMANCE: "0-1,4",
                hybrid.EFFICIENCY[0]: "2-3",
                hybrid.EFFICIENCY[1]: "5-6",
            },
            (2, 3, 5, 6),
        ),
        # All of one kind: of performance cores, or of the others alone.
        ({hybrid.PERFORMANCE: "0-7"}, ()),
        ({hybrid.EFFICIENCY[0]: "0-3"}, ()),
        # Arm's: two kinds, three, one, and one whose cores differ by their clocks alone.
        (capacities(381, 381, 1024, 1024), (0, 1)),
        (capacities(280, 280, 866, 866, 1024), (0, 1)),
        (capacities(1024, 1024), ()),
        (capacities(979, 1024), ()),
    ],
)
def test_which_cores_are_the_slow_ones(tree, files, efficient):
    tree.put(files)
    assert hybrid.efficiency_cores(tree.root) == set(efficient)
    found = read_topology(tree.root, range(8)).cpus
    assert tuple(cpu.id for cpu in found if cpu.is_efficient) == efficient


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "cores: all of one kind"),
        (
            {hybrid.PERFORMANCE: "0-3,8-11", hybrid.EFFICIENCY[0]: "4-7,12-15"},
            "cores: 4 for performance and 4 for efficiency; CpuAffinity and tune",
        ),
    ],
)
def test_the_doctor_says_so(server, files, said):
    server.put(files)
    (line,) = [f for f in doctor.findings(server.root, 0.0) if f.text.startswith("cores: ")]
    assert line.text.startswith(said)
