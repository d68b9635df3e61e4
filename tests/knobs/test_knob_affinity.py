"""Which CPUs a mask gets on machines of many shapes, and that its kind is shown or denied."""

import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from settled import NO_MODEL, settled

from cputrain.engines import settings
from cputrain.experiment.system import AFFINITIES, System
from cputrain.knobs import affinity
from cputrain.knobs.inforce import NotInForce, require
from cputrain.machine.mask import choose, threads
from cputrain.machine.topology import Cpu, Topology, TopologyError
from cputrain.run import launch, placement

KINDS = tuple(kind for kind in AFFINITIES if kind != "default")


def machine(*cores, efficient=()):
    """A machine whose cores are given as (package, CPUs); a node for each package."""
    cpus = [
        Cpu(id, ids[0], package, package, id in efficient) for package, ids in cores for id in ids
    ]
    return Topology(tuple(sorted(cpus, key=lambda cpu: cpu.id)))


def only(topology, allowed):
    return Topology(tuple(cpu for cpu in topology.cpus if cpu.id in allowed))


SERVER = machine(*((n // 4, (n, n + 8)) for n in range(8)))
PLAIN = machine((0, (0,)), (0, (1,)))
SMT = machine(*((0, (2 * n, 2 * n + 1)) for n in range(4)))
HYBRID = machine(
    *((0, (2 * n, 2 * n + 1)) for n in range(4)),
    *((0, (n,)) for n in range(8, 12)),
    efficient=range(8, 12),
)


def chosen(topology, kind, **changes):
    return choose(topology, System(affinity=kind, **changes))


@pytest.mark.parametrize(
    ("topology", "kind", "cpus"),
    [
        (SERVER, "default", tuple(range(16))),
        (SERVER, "one_per_core", tuple(range(8))),
        (SERVER, "siblings", (0, 1, 4, 5, 8, 9, 12, 13)),
        (SERVER, "one_socket", (0, 1, 2, 3)),
        (SERVER, "scattered", (0, 1, 4, 5)),
        (PLAIN, "one_per_core", (0, 1)),
        (SMT, "siblings", (0, 1, 2, 3)),
        (SMT, "one_per_core", (0, 2, 4, 6)),
        (HYBRID, "one_per_core", (0, 2, 4, 6, 8, 9, 10, 11)),
        (HYBRID, "siblings", tuple(range(8))),
        (HYBRID, "performance_cores", (0, 2, 4, 6)),
        (HYBRID, "efficiency_cores", (8, 9, 10, 11)),
        (only(HYBRID, {1, 2, 9, 11}), "performance_cores", (1, 2)),
        # The second socket has most of the allowed cores.
        (only(SERVER, {0, 8, 5, 6, 7, 13}), "one_socket", (5, 6, 7)),
        (only(SERVER, {0, 8, 5, 6, 7, 13}), "scattered", (0, 5, 6)),
        (only(SERVER, {0, 8, 5, 6, 7, 13}), "siblings", (0, 5, 8, 13)),
        (only(SERVER, {0, 9, 10, 2}), "one_per_core", (0, 2, 9)),
    ],
)
def test_the_mask_of_each_kind(topology, kind, cpus):
    assert chosen(topology, kind) == cpus


@pytest.mark.parametrize(
    ("topology", "kind", "line"),
    [
        (PLAIN, "siblings", "each of the allowed CPUs is on a core of its own: no SMT siblings"),
        (only(SERVER, range(8)), "siblings", "core of its own"),
        (only(SERVER, {0, 8, 1, 9, 2, 10}), "siblings", "make 2 CPUs here, not 3"),
        (only(SERVER, {0, 8}), "siblings", "make 0 CPUs here, not 1"),
        (only(SERVER, {0, 8, 1, 2, 3}), "siblings", "make 2 CPUs here, not 4"),
        (PLAIN, "one_socket", "all allowed CPUs are on one socket"),
        (only(SERVER, range(4)), "scattered", "all allowed CPUs are on one socket"),
        (only(SERVER, {0, 4}), "scattered", "one core is allowed on each socket"),
        (SMT, "performance_cores", "all allowed cores are of one kind"),
        (only(HYBRID, range(8)), "performance_cores", "all allowed cores are of one kind"),
        (only(HYBRID, range(8, 12)), "efficiency_cores", "all allowed cores are of one kind"),
    ],
)
def test_what_a_machine_lacks_is_one_true_line(topology, kind, line):
    with pytest.raises(TopologyError, match=line) as caught:
        chosen(topology, kind)
    assert "\n" not in str(caught.value)


def test_a_machine_that_does_not_say_gets_no_kind_at_all():
    cpus = tuple(Cpu(id, id, 0, None) for id in range(4))
    silent = Topology(cpus, "the kernel does not say which core any CPU belongs to: each counts")
    for kind in KINDS:
        with pytest.raises(TopologyError, match=r"does not say which core any CPU belongs to$"):
            chosen(silent, kind)
    assert chosen(silent, "default") == (0, 1, 2, 3)
    with pytest.raises(TopologyError, match="NUMA node"):
        chosen(silent, "default", numa_policy="one_node")
    homeless = Topology(SERVER.cpus, None, "the kernel does not say which socket any CPU is on")
    for kind in ("one_socket", "scattered"):
        with pytest.raises(TopologyError, match="which socket"):
            chosen(homeless, kind)
    assert chosen(homeless, "one_per_core") == tuple(range(8))


def test_one_node_has_the_cpus_of_the_first_node_alone():
    assert chosen(SERVER, "default", numa_policy="one_node") == (0, 1, 2, 3, 8, 9, 10, 11)
    assert chosen(SERVER, "one_per_core", numa_policy="one_node") == (0, 1, 2, 3)
    assert chosen(SERVER, "siblings", numa_policy="one_node") == (0, 1, 8, 9)
    assert chosen(only(SERVER, {5, 6, 14}), "default", numa_policy="one_node") == (5, 6, 14)
    assert chosen(SERVER, "default", numa_policy="one_node", cores=3) == (0, 1, 2)
    with pytest.raises(TopologyError, match="only 8 CPUs are allowed on NUMA node 0, not 9"):
        chosen(SERVER, "default", numa_policy="one_node", cores=9)


def test_siblings_have_as_many_threads_as_one_on_each_core():
    """Equal thread counts, or the two could not be compared."""
    counts = {}
    for kind in ("one_per_core", "siblings", "one_socket", "scattered"):
        cpus = chosen(SERVER, kind)
        cores = only(SERVER, cpus).physical_cores
        counts[kind] = (cores, threads(System(affinity=kind), cpus, cores))
    assert counts["one_per_core"] == (8, 8) and counts["siblings"] == (4, 8)
    assert counts["one_socket"] == counts["scattered"] == (4, 4)


TOPOLOGIES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([1, 1, 2, 2, 4]), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(TOPOLOGIES)
def test_whatever_the_machine_a_mask_is_of_its_kind_or_refused(cores):
    """Hybrid CPUs, odd counts and cut masks among them; every mask passes its own check."""
    ids = iter(range(100))
    shape = [(package, tuple(next(ids) for _ in range(n))) for package, n, _ in cores]
    single = {its[0] for _, its in shape if len(its) == 1}
    made = machine(*shape, efficient=single)
    dropped = {core[0].id for core, (_, _, drop) in zip(made.cores, cores, strict=True) if drop}
    topology = only(made, {cpu.id for cpu in made.cpus} - dropped)
    if not topology.cpus:
        return
    masks = {}
    for kind in KINDS:
        try:
            masks[kind] = chosen(topology, kind)
        except TopologyError:
            continue
        assert set(masks[kind]) <= {cpu.id for cpu in topology.cpus}
        require(affinity.kind_of_mask(kind, only(topology, masks[kind])))
    assert len(masks["one_per_core"]) == topology.physical_cores
    assert len(masks.get("siblings", masks["one_per_core"])) == topology.physical_cores
    assert len(masks.get("scattered", ())) in (0, len(masks.get("one_socket", ())))


@pytest.mark.parametrize(
    ("kind", "mask"),
    [
        ("one_per_core", {0, 1, 8}),
        ("siblings", {0, 8, 1}),
        ("siblings", {0, 1, 2, 3}),
        ("one_socket", {0, 1, 4}),
        ("one_socket", {0, 8}),
        ("scattered", {0, 1, 2, 3}),
        ("scattered", {0, 8, 4, 12}),
    ],
)
def test_a_mask_of_another_kind_is_found(kind, mask):
    with pytest.raises(NotInForce, match=r"asked for .*, found "):
        require(affinity.kind_of_mask(kind, only(SERVER, mask)))


@pytest.mark.parametrize(
    ("kind", "mask"),
    [
        ("performance_cores", {0, 2, 8}),
        ("performance_cores", {0, 1, 2}),  # two of one core
        ("efficiency_cores", {6, 8, 9}),
        ("efficiency_cores", {0, 2}),
    ],
)
def test_a_mask_with_cores_of_the_other_kind_is_found(kind, mask):
    with pytest.raises(NotInForce, match=r"asked for .*, found "):
        require(affinity.kind_of_mask(kind, only(HYBRID, mask)))


def test_a_number_of_cores_takes_the_fast_ones_first():
    little_first = machine(*((0, (n,)) for n in range(6)), efficient=range(4))
    assert little_first.choose(1) == (4,) and little_first.choose(3) == (0, 4, 5)
    assert HYBRID.choose(4) == (0, 2, 4, 6) and HYBRID.choose(8) == (0, 2, 4, 6, 8, 9, 10, 11)


def test_a_kernel_that_does_not_say_shows_no_kind():
    for kind in KINDS:
        silent = Topology(SERVER.cpus, "does not say which core", "does not say which socket")
        with pytest.raises(NotInForce, match="does not say"):
            require(affinity.kind_of_mask(kind, silent))


def test_this_machine_has_one_per_core_and_the_worker_shows_it():
    experiment = settled(affinity="one_per_core")
    placed = placement.place(experiment)
    assert set(placed.cpus) <= os.sched_getaffinity(0)
    assert placed.physical_cores == placed.threads == len(placed.cpus)
    require(affinity.CpuAffinity().checks(experiment, placed, {}))
    assert affinity.CpuAffinity().checks(settled(), placed, {}) == []
    assert settings.environment(experiment, placed) == {}


TELL = (
    "import json, os, sys; sys.stdin.readline(); "
    "os.write(int(sys.argv[1]), json.dumps({'cpus': sorted(os.sched_getaffinity(0))}).encode() "
    "+ b'\\n'); input()"
)


def test_the_mask_is_that_of_a_real_process():
    experiment = settled(affinity="one_per_core")
    worker = launch.Worker(experiment, NO_MODEL, command=(sys.executable, "-c", TELL))
    try:
        assert tuple(json.loads(worker.line())["cpus"]) == placement.place(experiment).cpus
    finally:
        worker.end()
