"""Which CPUs share a core, and in which order they are given out."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cputrain.machine import reading
from cputrain.machine.topology import (
    Cpu,
    Topology,
    TopologyError,
    memory_nodes,
    other_threads,
    read_topology,
)


def test_a_server(server):
    topology = read_topology(server.root, range(16))
    assert (topology.note, topology.socket_note) == (None, None)
    assert topology.physical_cores == 8
    assert topology.cpus[0] == Cpu(0, 0, 0, 0)
    assert topology.cpus[12] == Cpu(12, 4, 1, 1)


def test_a_mask_is_read_once_and_again_where_other_cpus_are_online(server):
    """Of 128 CPUs reading takes 13 ms, and a run reads some 850 times before it says a word."""
    assert read_topology(server.root, range(9)).physical_cores == 8
    server.put({"/sys/devices/system/cpu/cpu8/topology/core_cpus_list": "8"})
    assert read_topology(server.root, range(9)).physical_cores == 8
    assert read_topology(server.root, [8]).cpus[0].core == 8
    server.put({"/sys/devices/system/cpu/online": "1-15"})
    assert read_topology(server.root, range(9)).physical_cores == 9


@pytest.mark.parametrize(
    "n, cpus",
    [
        (1, (0,)),
        (4, (0, 1, 2, 3)),
        (6, (0, 1, 2, 3, 4, 5)),
        (8, tuple(range(8))),
        (10, (*range(8), 8, 9)),
        (16, tuple(range(16))),
    ],
)
def test_cores_come_first_package_by_package_then_siblings(server, n, cpus):
    assert read_topology(server.root, range(16)).choose(n) == cpus


def test_packages_come_one_after_the_other_where_numbers_alternate(tree):
    for id in range(4):
        tree.put({f"/sys/devices/system/cpu/cpu{id}/topology/physical_package_id": id % 2})
        tree.put({f"/sys/devices/system/cpu/cpu{id}/topology/thread_siblings_list": id})
    assert read_topology(tree.root, range(4)).choose(2) == (0, 2)


def test_a_mask_of_siblings_alone(server):
    topology = read_topology(server.root, {1, 9, 12})
    assert topology.physical_cores == 2
    assert topology.choose(2) == (1, 12)
    with pytest.raises(TopologyError, match=r"^only 3 CPUs are allowed here, not 4$"):
        topology.choose(4)


@pytest.mark.parametrize("n", [0, -1])
def test_no_cpus_are_refused(server, n):
    with pytest.raises(TopologyError):
        read_topology(server.root, range(16)).choose(n)


def test_a_machine_that_does_not_say(bare):
    topology = read_topology(bare.root, {0, 1, 5})
    assert topology.physical_cores == 3
    assert topology.cpus[2] == Cpu(5, 5, 0, None)
    assert topology.note is not None and "any CPU" in topology.note
    assert topology.choose(2) == (0, 1)


def test_one_cpu_that_does_not_say_is_named(server):
    (server.root / "sys/devices/system/cpu/cpu3/topology/core_cpus_list").write_text("x\n")
    topology = read_topology(server.root, range(16))
    assert topology.note is not None and "CPU 3" in topology.note


def test_this_machine_and_this_mask():
    topology = read_topology()
    assert {cpu.id for cpu in topology.cpus} == os.sched_getaffinity(0)
    assert 1 <= topology.physical_cores <= len(topology.cpus)


@given(st.sets(st.integers(0, 15), min_size=1), st.data())
def test_a_choice_never_doubles_up_while_a_core_is_free(allowed, data):
    topology = Topology(tuple(Cpu(id, id % 8, id % 8 // 4, None) for id in sorted(allowed)))
    n = data.draw(st.integers(1, len(allowed)))
    chosen = topology.choose(n)
    assert len(set(chosen)) == n and set(chosen) <= allowed and list(chosen) == sorted(chosen)
    cores = {id % 8 for id in chosen}
    assert len(cores) == min(n, topology.physical_cores)


def test_cores_packages_and_nodes(server):
    topology = read_topology(server.root, {0, 8, 5, 13, 6})
    assert [[cpu.id for cpu in core] for core in topology.cores] == [[0, 8], [5, 13], [6]]
    assert topology.packages == topology.nodes == (0, 1)
    assert [cpu.id for cpu in topology.on_node(1).cpus] == [5, 6, 13]
    assert topology.on_node(7).cpus == ()


def test_a_machine_that_says_nothing_of_a_socket(server):
    server.put({"/sys/devices/system/cpu/cpu3/topology/physical_package_id": -1})
    topology = read_topology(server.root, range(16))
    assert topology.note is None and "socket CPU 3 belongs" in topology.socket_note


def test_nodes_whose_memory_may_be_used(server):
    nodes = "/sys/devices/system/node"
    server.put({f"{nodes}/has_memory": "0-2", f"{nodes}/node2/cpulist": ""})
    server.put({"/proc/self/status": "Name:\tpython\nMems_allowed_list:\t0-63"})
    assert memory_nodes(server.root) == (0, 1)
    server.put({"/proc/self/status": "Mems_allowed_list:\t1-2"})
    assert memory_nodes(server.root) == (1,)


def test_a_machine_that_says_nothing_of_nodes(bare):
    with pytest.raises(reading.Unknown, match="has_memory"):
        memory_nodes(bare.root)
    topology = read_topology(bare.root, {0, 1})
    assert topology.nodes == () and topology.packages == (0,)
    assert "socket any CPU belongs" in topology.socket_note


def test_the_other_threads_of_cores(server, tmp_path):
    assert other_threads((0, 1, 5), server.root) == (8, 9, 13)
    assert other_threads((0, 8, 1), server.root) == (9,)
    assert other_threads(range(16), server.root) == ()
    with pytest.raises(reading.Unknown):
        other_threads((0,), tmp_path)
