"""XLA's threads: NPROC alone says how many, and no more of them compute at a time."""

import json
import os
import subprocess
import sys

import pytest
from settled import settled

from cputrain import paths
from cputrain.engines import settings, specs
from cputrain.knobs import inforce
from cputrain.knobs.inforce import NotInForce, require
from cputrain.machine import threads
from cputrain.record.process import Placement

JAX = settled(engine="jax", compile="xla")
CHILD = """
import json, os, time
import jax, jax.numpy as jnp
from cputrain.machine import threads
x = jnp.ones((400, 400))
step = jax.jit(lambda x: jnp.tanh(x @ x.T) @ x).lower(x).compile()
step(x).block_until_ready()
before, start = threads.cpu_time_by_thread(), time.perf_counter()
while time.perf_counter() - start < 0.5:
    step(x).block_until_ready()
wall_s = time.perf_counter() - start
pool = threads.named(threads.XLA_POOL)
print(json.dumps([before, threads.cpu_time_by_thread(), pool, wall_s]))
"""


def seen(**variables):
    """CPU time before and after by thread, the pool, and the seconds between."""
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env |= {"PYTHONPATH": str(paths.PROJECT), **variables}
    words = [sys.executable, "-c", CHILD]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    before, after, pool, wall_s = json.loads(done.stdout)
    before, after = ({int(id): ns for id, ns in times.items()} for times in (before, after))
    return before, after, pool, wall_s


@pytest.mark.parametrize("count", [1, 3])
def test_the_pool_is_as_large_as_asked_whatever_the_mask_is(count):
    pytest.importorskip("jax")
    place = Placement((0, 1), count, count, 2)
    env = settings.environment(JAX.but(threads=count), place)
    assert env["NPROC"] == str(count)
    before, after, pool, wall_s = seen(**env, OMP_NUM_THREADS="5")
    require(specs.of("jax").threads(count, {"pool_threads": len(pool)}))
    require([inforce.busy_pool(count, before, after, pool, wall_s, exactly=False)])
    with pytest.raises(NotInForce, match="XLA's pool"):
        require(specs.of("jax").threads(count + 1, {"pool_threads": len(pool)}))


def test_who_computed_is_the_pool_and_never_more_than_ran_at_a_time():
    second = 10**9
    before = dict.fromkeys((1, 2, 3, 4), 0)
    one_after_another = {1: second // 100, 2: second * 7 // 10, 3: second * 3 // 10, 4: 0}
    check = inforce.busy_pool(1, before, one_after_another, [3], 1.0, exactly=True)
    assert check.ok and check.actual == 1
    both_at_a_time = {1: 0, 2: second, 3: second, 4: 0}
    check = inforce.busy_pool(1, before, both_at_a_time, [3], 1.0, exactly=False)
    assert not check.ok and check.actual == 2
    in_turns = {1: 0, 2: 0, 3: second // 2, 4: second // 2}
    check = inforce.busy_pool(1, before, in_turns, [3, 4], 1.0, exactly=False)
    assert not check.ok and check.actual == 2
    check = inforce.busy_pool(2, before, {**in_turns, 4: 0}, [3, 4], 1.0, exactly=True)
    assert not check.ok and check.actual == 1
    starved = {1: 0, 2: second // 10, 3: 0, 4: 0}
    assert inforce.busy_pool(1, before, starved, [3], 1.0, exactly=True).ok


def test_an_unknown_pool_is_not_in_force():
    with pytest.raises(NotInForce, match="found None"):
        require(specs.of("jax").threads(2, {}))


def test_threads_are_found_by_their_whole_name(tmp_path):
    for id, name in ((7, "tf_XLAEigen"), (3, "tf_XLAEigen"), (4, "tf_XLAEigenX"), (5, "python")):
        folder = tmp_path / "proc/self/task" / str(id)
        folder.mkdir(parents=True)
        (folder / "comm").write_text(f"{name}\n")
    (tmp_path / "proc/self/task/9").mkdir()  # ended meanwhile
    assert threads.named(threads.XLA_POOL, tmp_path) == [3, 7]


def test_other_engines_are_not_told():
    place = Placement((0,), 1, 1, 1)
    assert "NPROC" not in settings.environment(settled(), place)


def test_the_cache_is_on_where_a_first_step_is_timed():
    place = Placement((0,), 1, 1, 1)
    steady = settings.environment(JAX, place)
    assert steady["JAX_ENABLE_COMPILATION_CACHE"] == "false"
    for state in ("cold", "warm"):
        env = settings.environment(JAX.but(jit_state=state), place)
        assert "JAX_ENABLE_COMPILATION_CACHE" not in env
        assert env["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] == "0"
