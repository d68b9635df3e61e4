"""Which CPUs the mask has."""

from __future__ import annotations

from cputrain.knobs.knob import Knob
from cputrain.machine.topology import Topology
from cputrain.system import System


def choose(topology: Topology, system: System) -> tuple[int, ...]:
    """The affinity mask, ascending.

    Raises:
        TopologyError: the machine has not what `system.affinity` or `system.cores` asks for.
    """
    return topology.choose(len(topology.cpus) if system.cores is None else system.cores)


def threads(system: System, cpus: tuple[int, ...], cores: int) -> int:
    """Compute threads on this mask of so many cores where nobody says how many."""
    return cores


class CpuAffinity(Knob):
    """Which CPUs the mask has."""
