"""How OpenMP's threads are bound to CPUs.

A place is a core (all of the mask's CPUs on it) or, where there are more threads than cores, one
CPU. Thread i gets place i (close), or the places are shared out and it gets the first of its
share (spread); explicit has one CPU for each thread, one per core first. Where every core has a
thread, close and spread are the same.

libgomp is told by OMP_PROC_BIND and OMP_PLACES, written out, so that they do not depend on how it
reads the topology. libiomp5 is told by KMP_AFFINITY and not by those: libgomp is loaded under it
too, would bind the initial thread to the first place, and libiomp5 would take that one CPU for
the whole mask and put every thread on it (tried: 2 threads on CPU 0).

OMP_PROC_BIND binds the initial thread when libgomp is loaded, which is at `import torch`, and each
thread that it starts later inherits that place, unless it is OpenMP's: torch's inter-op pool, a
streaming loader's threads, and processes such as inductor's C++ compiler. So loader threads are
refused together with pinning (`rules`): they would all share the CPU of the thread that trains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import openmp
from cputrain.machine.mask import place
from cputrain.machine.topology import Topology, read_topology

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check

Place = tuple[int, ...]
"""CPUs that a thread may move between."""
BINDING = {"close": "close", "spread": "spread", "explicit": "close"}
"""OMP_PROC_BIND by pinning."""


class Pinning(Knob):
    """How OpenMP's threads are bound to CPUs: not, close together, spread, or CPU by CPU."""

    def why_not(self, experiment: Experiment) -> str | None:
        if experiment.system.pinning == "none":
            return None
        placed = place(experiment.system)
        if placed.threads <= len(placed.cpus):
            return None
        cpus = f"{len(placed.cpus)} CPU{'s' if len(placed.cpus) > 1 else ''}"
        return f"pinning needs a CPU for each thread: {placed.threads} threads, {cpus}"

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        system = experiment.system
        if system.pinning == "none":
            return {}
        topology = read_topology(allowed=placement.cpus)
        if system.omp_runtime == "libiomp5":
            bound = assigned(system.pinning, topology, placement.threads)
            return {"KMP_AFFINITY": f"granularity=fine,explicit,proclist=[{_written(bound)}]"}
        listed = places(system.pinning, topology, placement.threads)
        return {"OMP_PROC_BIND": BINDING[system.pinning], "OMP_PLACES": _written(listed)}

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        from cputrain.knobs.inforce import same, unbound

        system = experiment.system
        if system.pinning == "none":
            return [unbound(list(placement.cpus))]
        topology = read_topology(allowed=placement.cpus)
        expected = assigned(system.pinning, topology, placement.threads)
        actual = {member.number: member.cpus for member in openmp.team()}
        binding = "intel" if system.omp_runtime == "libiomp5" else BINDING[system.pinning]
        return [
            same("OpenMP's binding", binding, openmp.proc_bind()),
            same("CPUs of each OpenMP thread", dict(enumerate(expected)), actual),
        ]


def places(pinning: str, topology: Topology, threads: int) -> list[Place]:
    """The places that OpenMP may use, in its order; at least as many as `threads`."""
    cores: list[Place] = [tuple(cpu.id for cpu in core) for core in topology.cores]
    if pinning == "explicit":
        return _alone(_one_per_core_first(cores)[:threads])
    if threads <= len(cores):
        return cores
    return _alone([id for core in cores for id in core])


def assigned(pinning: str, topology: Topology, threads: int) -> list[Place]:
    """The place of each thread, as OpenMP 5.0 (2.6.2) says; all different.

    spread: P places are cut into T runs, P mod T of them one longer than the others, and the
    longer ones come first (libgomp's team.c; OpenMP leaves that open).
    """
    listed = places(pinning, topology, threads)
    if pinning != "spread":
        return listed[:threads]
    each, longer = divmod(len(listed), threads)
    return [listed[i * each + min(i, longer)] for i in range(threads)]


def _one_per_core_first(cores: list[Place]) -> list[int]:
    depth = max(len(core) for core in cores)
    return [core[i] for i in range(depth) for core in cores if i < len(core)]


def _alone(ids: list[int]) -> list[Place]:
    return [(id,) for id in ids]


def _written(listed: list[Place]) -> str:
    """A list as both runtimes read it, such as "{0,8},{1,9}"."""
    return ",".join("{" + ",".join(map(str, place)) + "}" for place in listed)
