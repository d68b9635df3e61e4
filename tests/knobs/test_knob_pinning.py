"""Pinning: places by topology, and a process whose threads are bound otherwise is found out."""

import os

import pytest
from settled import settled

from cputrain.knobs.pinning import Pinning, assigned, places
from cputrain.machine.topology import Cpu, Topology
from cputrain.record.process import Placement

BOUND, THREADS = "OpenMP's binding", "CPUs of each OpenMP thread"
FREE = "threads bound to fewer CPUs"
TWO_SOCKETS = Topology(
    tuple(Cpu(id, core=id % 8, package=id % 8 // 4, node=id % 8 // 4) for id in range(16))
)
CORES = [(i, i + 8) for i in range(8)]


@pytest.mark.parametrize(
    ("pinning", "threads", "expected"),
    [
        ("close", 8, CORES),
        ("close", 3, CORES[:3]),
        ("close", 1, CORES[:1]),
        ("close", 10, [(0,), (8,), (1,), (9,), (2,), (10,), (3,), (11,), (4,), (12,)]),
        ("spread", 8, CORES),
        ("spread", 2, [CORES[0], CORES[4]]),
        ("spread", 3, [CORES[0], CORES[3], CORES[6]]),
        ("spread", 1, CORES[:1]),
        ("explicit", 2, [(0,), (1,)]),
        ("explicit", 9, [(0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,), (8,)]),
    ],
)
def test_each_thread_has_a_place_by_the_topology(pinning, threads, expected):
    by_thread = assigned(pinning, TWO_SOCKETS, threads)
    assert by_thread == expected
    assert len(set(by_thread)) == threads
    assert set(by_thread) <= set(places(pinning, TWO_SOCKETS, threads))


ALLOWED = tuple(sorted(os.sched_getaffinity(0)))
TWO = pytest.mark.skipif(len(ALLOWED) < 2, reason="needs two CPUs")


def environment(runtime, pinning, threads, cpus):
    experiment = settled(pinning=pinning, omp_runtime=runtime)
    return Pinning().environment(experiment, Placement(cpus, len(cpus), threads, threads))


@TWO
def test_each_runtime_is_told_in_its_own_words():
    first, second = ALLOWED[:2]
    assert environment("libgomp", "none", 2, ALLOWED[:2]) == {}
    assert environment("libgomp", "explicit", 2, (first, second)) == {
        "OMP_PROC_BIND": "close",
        "OMP_PLACES": f"{{{first}}},{{{second}}}",
    }
    assert environment("libgomp", "spread", 1, (first,)) == {
        "OMP_PROC_BIND": "spread",
        "OMP_PLACES": f"{{{first}}}",
    }
    assert environment("libiomp5", "explicit", 2, (first, second)) == {
        "KMP_AFFINITY": f"granularity=fine,explicit,proclist=[{{{first}}},{{{second}}}]"
    }


def test_more_threads_than_cpus_are_skipped_with_the_reason():
    over = settled(threads=len(ALLOWED) + 1)
    for pinning in ("close", "spread", "explicit"):
        reason = Pinning().why_not(over.but(pinning=pinning))
        assert reason.startswith("pinning needs a CPU for each thread: ")
        assert f"{len(ALLOWED) + 1} threads, {len(ALLOWED)} CPU" in reason
        assert Pinning().why_not(over.but(pinning=pinning, threads=1)) is None
    assert Pinning().why_not(over) is None


@TWO
def test_threads_that_are_not_bound_are_found():
    pytest.importorskip("torch")
    from openmp_process import failed, plain

    none, *pinned = plain()["pinned"]
    assert not failed(none) and FREE in none
    for checks in pinned:
        assert {BOUND, THREADS} <= failed(checks)


@TWO
@pytest.mark.skipif(len(ALLOWED) > 2, reason="the places are written for two CPUs")
def test_threads_bound_otherwise_are_found():
    """Both on one CPU, which is inside the mask; the main thread's place is seen, too."""
    pytest.importorskip("torch")
    from openmp_process import PINNED, failed, told

    first, second = ALLOWED
    wrong = {"OMP_PROC_BIND": "close", "OMP_PLACES": f"{{{second}}},{{{first}}}"}
    none, close, spread, explicit = told(PINNED, OMP_NUM_THREADS="2", **wrong)
    assert failed(none) == {FREE}
    assert failed(close) == failed(explicit) == {THREADS}
    assert failed(spread) == {BOUND, THREADS}


@TWO
def test_libgomp_s_binding_spoils_that_of_libiomp5_and_is_found():
    """Why libiomp5 is told by KMP_AFFINITY: libgomp binds the initial thread before it looks."""
    pytest.importorskip("torch")
    from openmp_process import PINNED, failed, told

    from cputrain.machine import library_search

    if reason := library_search.why_not("libiomp5"):
        pytest.skip(reason)
    experiments = [{**changes, "omp_runtime": "libiomp5"} for changes in PINNED[1:]]
    spoilt = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
    preload = str(library_search.find("libiomp5"))
    for checks in told(experiments, OMP_NUM_THREADS="2", LD_PRELOAD=preload, **spoilt):
        assert {BOUND, THREADS} <= failed(checks)
        one_cpu = {f"{{0: ({cpu},), 1: ({cpu},)}}" for cpu in ALLOWED}
        assert checks[THREADS][1] in one_cpu


def test_places_keep_to_the_mask():
    """Half of a core's CPUs in the mask: the place has that half."""
    half = Topology(tuple(cpu for cpu in TWO_SOCKETS.cpus if cpu.id != 8))
    assert places("close", half, 8)[0] == (0,)
    assert places("close", half, 8)[1] == (1, 9)
