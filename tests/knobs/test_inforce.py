"""Each check has to catch a lie."""

import os
import threading

import pytest

from cputrain.engines import specs
from cputrain.knobs import inforce

MASK = sorted(os.sched_getaffinity(0))


def fails(check):
    with pytest.raises(inforce.NotInForce, match=r"asked for .*, found "):
        inforce.require([check])


def test_a_mask_that_leaked_is_found():
    inforce.require([inforce.launch_mask(MASK, set(MASK))])
    fails(inforce.launch_mask(MASK, {MASK[0]} if len(MASK) > 1 else {99}))


@pytest.mark.skipif(len(MASK) < 2, reason="needs two CPUs")
def test_a_thread_outside_the_mask_is_found():
    inforce.require([inforce.thread_masks(MASK)])
    stop = threading.Event()
    stray = threading.Thread(target=stop.wait)
    stray.start()
    try:
        fails(inforce.thread_masks(MASK[:1]))
    finally:
        stop.set()
        stray.join()


@pytest.mark.skipif(len(MASK) < 2, reason="needs two CPUs")
def test_a_thread_on_fewer_cpus_is_found():
    inforce.require([inforce.unbound(MASK)])
    stop, bound = threading.Event(), threading.Event()

    def narrow():
        os.sched_setaffinity(0, MASK[:1])
        bound.set()
        stop.wait()

    thread = threading.Thread(target=narrow)
    thread.start()
    bound.wait()
    try:
        inforce.require([inforce.thread_masks(MASK)])
        fails(inforce.unbound(MASK))
        assert inforce.masks()[thread.native_id] == MASK[:1]
    finally:
        stop.set()
        thread.join()


def test_a_preload_that_is_not_mapped_is_found(tmp_path):
    maps = tmp_path / "proc/self/maps"
    maps.parent.mkdir(parents=True)
    maps.write_text(
        "7f0-7f1 r-xp 00000000 fe:00 12  /usr/lib/libjemalloc.so.2\n7f2-7f3 rw-p 0 0 0 \n"
    )
    inforce.require(inforce.preloads(("/usr/lib/libjemalloc.so.2",), tmp_path))
    (check,) = inforce.preloads(("/usr/lib/libtcmalloc.so.4",), tmp_path)
    fails(check)


@pytest.mark.parametrize(
    ("engine", "readings"),
    [
        ("torch", {"intra_op_threads": 1}),
        ("torch", {}),
        ("numpy", {"threadpools": [{"user_api": "blas", "num_threads": 1}]}),
        ("numpy", {"threadpools": []}),
        ("numpy", {"threadpools": [{"user_api": "openmp", "num_threads": 2}]}),
        (
            "numpy",
            {
                "threadpools": [{"user_api": "blas", "num_threads": 2}],
                "blas": {"path": "/lib/libmkl_rt.so", "threads": 1},
            },
        ),
    ],
)
def test_a_thread_count_not_in_force_is_found(engine, readings):
    (check,) = specs.of(engine).threads(2, readings)
    fails(check)


def test_the_threads_of_the_library_that_multiplies_are_the_ones_that_count():
    pools = [{"user_api": "blas", "num_threads": n} for n in (1, 2)]
    blas = {"path": "/lib/libmkl_rt.so", "threads": 2}
    inforce.require(specs.of("numpy").threads(2, {"threadpools": pools, "blas": blas}))


def test_threads_that_did_not_work_are_found():
    before, after = {1: 0, 2: 5}, {1: 10**9, 2: 5}
    fails(inforce.busy_threads(2, before, after, exactly=True))
    inforce.require([inforce.busy_threads(2, before, after, exactly=False)])
    fails(inforce.busy_threads(1, before, {1: 10**9, 2: 10**9}, exactly=False))
