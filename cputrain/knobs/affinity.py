"""Which CPUs the mask has; `machine.mask` chooses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cputrain.knobs.knob import Knob, Placement
from cputrain.machine.topology import Topology, read_topology

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check


class CpuAffinity(Knob):
    """Which CPUs the mask has.

    `inforce.launch_mask` and `thread_masks` show that the mask is in force; the checks here show
    that its CPUs are what the setting's name says, by the topology that the kernel shows.
    """

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        kind = experiment.system.affinity
        return (
            [] if kind == "default" else kind_of_mask(kind, read_topology(allowed=placement.cpus))
        )


def kind_of_mask(kind: str, topology: Topology) -> list[Check]:
    """Whether the mask whose CPUs are those of `topology` is of the kind of its name."""
    from cputrain.knobs.inforce import Check, same

    on_core = sorted({len(core) for core in topology.cores})
    shares = f"{topology.note or 'CPUs of the mask on each of its cores'}"
    if kind == "siblings":
        return [Check(shares, "2 or more", on_core, topology.note is None and on_core[0] > 1)]
    checks = [Check(shares, [1], on_core, topology.note is None and on_core == [1])]
    if kind == "one_per_core":
        return checks
    if kind in ("performance_cores", "efficiency_cores"):
        is_efficient = kind == "efficiency_cores"
        others = [cpu.id for cpu in topology.cpus if cpu.is_efficient != is_efficient]
        return [*checks, same("CPUs of the mask that are not on " + kind, [], others)]
    sockets, known = list(topology.packages), topology.socket_note is None
    name = topology.socket_note or "sockets of the mask"
    if kind == "one_socket":
        return [*checks, Check(name, "one", sockets, known and len(sockets) == 1)]
    return [*checks, Check(name, "2 or more", sockets, known and len(sockets) > 1)]
