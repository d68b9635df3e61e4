"""Which CPUs and how many threads the system part of an experiment means on this machine."""

from __future__ import annotations

from collections.abc import Iterable

from cputrain.experiment.system import System
from cputrain.machine.topology import Cpu, Topology, TopologyError, read_topology
from cputrain.record.process import Placement

Core = tuple[Cpu, ...]


def place(system: System) -> Placement:
    """The affinity mask and thread counts that `system` means here.

    Raises:
        TopologyError: CPUs are asked that this process may not use or the machine has not.
    """
    cpus = choose(read_topology(), system)
    if system.processes is not None:
        return shared_out(read_topology(allowed=cpus), system.processes)
    cores = read_topology(allowed=cpus).physical_cores
    omp_threads = system.threads or threads(system, cpus, cores)
    return Placement(cpus, cores, system.intra_op_threads or omp_threads, omp_threads)


def shared_out(topology: Topology, processes: int) -> Placement:
    """The cores of `topology` shared out among processes: as many whole cores for each.

    Neighbours stay together: cores are counted socket by socket, NUMA node by node. Those that
    are left over when the number does not divide are in no mask: the processes wait for one
    another in every step, so that a larger share would only wait longer.

    Raises:
        TopologyError: there are fewer cores than processes.
    """
    cores = sorted(topology.cores, key=lambda core: (core[0].package, core[0].node or 0))
    each = len(cores) // processes
    if not each:
        allowed = f"core{' is' if len(cores) == 1 else 's are'} allowed"
        raise TopologyError(f"{processes} processes need {processes} cores, {len(cores)} {allowed}")
    shares = [cores[rank * each : (rank + 1) * each] for rank in range(processes)]
    ranks = tuple(tuple(sorted(cpu.id for core in share for cpu in core)) for share in shares)
    cpus = tuple(sorted(id for share in ranks for id in share))
    return Placement(cpus, each * processes, each * processes, each, ranks)


def choose(topology: Topology, system: System) -> tuple[int, ...]:
    """The affinity mask, ascending, out of the CPUs of `topology`.

    With numa_policy = "one_node" out of those of its first node alone.

    Raises:
        TopologyError: the machine has not what `system` asks for.
    """
    if system.numa_policy == "one_node":
        if not topology.nodes:
            raise TopologyError("the kernel does not say which NUMA node any CPU belongs to")
        topology = topology.on_node(topology.nodes[0])
        if (system.cores or 0) > len(topology.cpus):
            where = f"CPUs are allowed on NUMA node {topology.nodes[0]}"
            raise TopologyError(f"only {len(topology.cpus)} {where}, not {system.cores}")
    if system.affinity == "default":
        return topology.choose(len(topology.cpus) if system.cores is None else system.cores)
    if topology.note is not None:
        raise TopologyError(topology.note.partition(":")[0])
    kinds = {
        "one_per_core": lambda: _firsts(topology.cores),
        "siblings": lambda: _siblings(topology),
        "one_socket": lambda: _firsts(_one_socket(topology)),
        "scattered": lambda: _firsts(_scattered(topology)),
        "performance_cores": lambda: _firsts(_of_kind(topology, is_efficient=False)),
        "efficiency_cores": lambda: _firsts(_of_kind(topology, is_efficient=True)),
    }
    return tuple(sorted(cpu.id for cpu in kinds[system.affinity]()))


def threads(system: System, cpus: tuple[int, ...], cores: int) -> int:
    """Compute threads on this mask of so many cores where nobody says how many.

    One for each core; with siblings one for each CPU, so that they are as many as with
    one_per_core.
    """
    return len(cpus) if system.affinity == "siblings" else cores


def _firsts(cores: Iterable[Core]) -> list[Cpu]:
    return [core[0] for core in cores]


def _siblings(topology: Topology) -> list[Cpu]:
    """As many CPUs as there are cores, on whole cores with SMT, in turns from each socket.

    In turns, so that nothing but the sharing differs from one CPU on each core.
    """
    wanted, chosen = topology.physical_cores, list[Cpu]()
    shared = [core for core in topology.cores if len(core) > 1]
    if not shared:
        raise TopologyError("each of the allowed CPUs is on a core of its own: no SMT siblings")
    for core in _in_turns(shared):
        if len(chosen) + len(core) <= wanted:
            chosen += core
    if len(chosen) < wanted:
        limit = f"whole cores with SMT siblings make {len(chosen)} CPUs here"
        raise TopologyError(f"{limit}, not {wanted}, as many as there are cores")
    return chosen


def _one_socket(topology: Topology) -> list[Core]:
    """The allowed cores of the socket that has most of them; of several the first."""
    if topology.socket_note is not None:
        raise TopologyError(topology.socket_note)
    if len(topology.packages) == 1:
        raise TopologyError("all allowed CPUs are on one socket: no contrast")
    return max(_by_package(topology.cores), key=len)  # the first of equals


def _scattered(topology: Topology) -> list[Core]:
    """As many cores as one_socket has, in turns from each socket."""
    wanted = len(_one_socket(topology))
    if wanted == 1:
        raise TopologyError("one core is allowed on each socket: one CPU cannot be scattered")
    return _in_turns(topology.cores)[:wanted]


def _of_kind(topology: Topology, *, is_efficient: bool) -> list[Core]:
    """The allowed cores of one kind, of a hybrid processor of which both kinds are allowed."""
    kinds = {cpu.is_efficient for cpu in topology.cpus}
    if len(kinds) == 1:
        raise TopologyError("all allowed cores are of one kind: no hybrid processor shows here")
    return [core for core in topology.cores if core[0].is_efficient == is_efficient]


def _by_package(cores: Iterable[Core]) -> list[list[Core]]:
    packages: dict[int, list[Core]] = {}
    for core in cores:
        packages.setdefault(core[0].package, []).append(core)
    return [packages[package] for package in sorted(packages)]


def _in_turns(cores: Iterable[Core]) -> list[Core]:
    """The first core of each socket, then the second of each, and so on."""
    turns = [
        (turn, package, core)
        for package, package_cores in enumerate(_by_package(cores))
        for turn, core in enumerate(package_cores)
    ]
    return [core for _, _, core in sorted(turns, key=lambda turn: turn[:2])]
