"""Cores shared out among processes, on made machines and on this one."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from settled import settled

from cputrain import environ
from cputrain.machine.mask import shared_out
from cputrain.machine.topology import Cpu, Topology, TopologyError
from cputrain.run import placement
from cputrain.worker.ranks import torchrun

EIGHT = settled(batch_size=8)


def machine(*cores):
    """A machine whose cores are given as (package, node, CPUs)."""
    cpus = [Cpu(id, ids[0], package, node) for package, node, ids in cores for id in ids]
    return Topology(tuple(sorted(cpus, key=lambda cpu: cpu.id)))


PLAIN = machine((0, 0, (0,)), (0, 0, (1,)))
SMT = machine(*((0, 0, (2 * n, 2 * n + 1)) for n in range(4)))
# Two sockets whose CPUs have alternate numbers, each of two nodes, with siblings 8 apart.
SERVER = machine(*((n % 2, n % 4, (n, n + 8)) for n in range(8)))


@pytest.mark.parametrize(
    ("topology", "processes", "ranks", "threads"),
    [
        (PLAIN, 1, ((0, 1),), 2),
        (PLAIN, 2, ((0,), (1,)), 1),
        (SMT, 2, ((0, 1, 2, 3), (4, 5, 6, 7)), 2),
        (SMT, 4, ((0, 1), (2, 3), (4, 5), (6, 7)), 1),
        (SMT, 3, ((0, 1), (2, 3), (4, 5)), 1),
        (SERVER, 2, ((0, 2, 4, 6, 8, 10, 12, 14), (1, 3, 5, 7, 9, 11, 13, 15)), 4),
        (SERVER, 4, ((0, 4, 8, 12), (2, 6, 10, 14), (1, 5, 9, 13), (3, 7, 11, 15)), 2),
    ],
)
def test_whole_cores_socket_by_socket_node_by_node(topology, processes, ranks, threads):
    placed = shared_out(topology, processes)
    assert placed.ranks == ranks and placed.omp_threads == threads
    assert placed.threads == placed.physical_cores == threads * processes
    assert placed.cpus == tuple(sorted(cpu for rank in ranks for cpu in rank))
    own = placed.of_rank(processes - 1)
    assert own.cpus == ranks[-1] and own.threads == own.physical_cores == own.omp_threads == threads
    assert own.ranks == ()


@pytest.mark.parametrize(
    ("topology", "processes", "line"),
    [
        (PLAIN, 8, "8 processes need 8 cores, 2 cores are allowed"),
        (SMT, 8, "8 processes need 8 cores, 4 cores are allowed"),
        (machine((0, 0, (3, 7))), 2, "2 processes need 2 cores, 1 core is allowed"),
    ],
)
def test_fewer_cores_than_processes_is_a_reason(topology, processes, line):
    with pytest.raises(TopologyError) as caught:
        shared_out(topology, processes)
    assert str(caught.value) == line


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(1, 3)), min_size=1, max_size=12),
    st.integers(1, 12),
)
def test_no_cpu_is_shared_and_all_have_as_many_cores(cores, processes):
    ids, made = iter(range(100)), []
    for package, siblings in cores:
        made.append((package, package, tuple(next(ids) for _ in range(siblings))))
    topology = machine(*made)
    if processes > len(cores):
        with pytest.raises(TopologyError):
            shared_out(topology, processes)
        return
    placed = shared_out(topology, processes)
    given_out = [cpu for rank in placed.ranks for cpu in rank]
    assert len(set(given_out)) == len(given_out) and set(given_out) == set(placed.cpus)
    core_of = {cpu.id: cpu.core for cpu in topology.cpus}
    counts = {len({core_of[cpu] for cpu in rank}) for rank in placed.ranks}
    assert counts == {len(cores) // processes}


def test_this_machine_shares_out_what_it_has_and_says_what_it_has_not():
    cores = placement.place(EIGHT.but(processes=1)).physical_cores
    processes = len(os.sched_getaffinity(0)) + 1
    many = settled(batch_size=processes, processes=processes)
    assert f"{processes} processes need {processes} cores, {cores} core" in placement.why_not(many)
    alone = placement.place(EIGHT.but(processes=1))
    assert alone.ranks == (alone.cpus,) and alone.omp_threads == cores
    assert placement.place(EIGHT).ranks == ()


def test_what_the_ranks_are_told():
    placed = shared_out(SMT, 2)
    assert torchrun.environment(placed)[environ.RANK_CPUS] == "0,1,2,3;4,5,6,7"
    env = placement.environment(EIGHT.but(processes=2), placed)
    assert env["OMP_NUM_THREADS"] == env["MKL_NUM_THREADS"] == "2"
    assert env["GLOO_SOCKET_IFNAME"] == "lo"
    assert environ.RANK_CPUS not in placement.environment(EIGHT, placement.place(EIGHT))
