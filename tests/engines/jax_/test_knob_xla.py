"""XLA's flags in real processes: what they ask for is in force there, and a lie is named."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs
from settled import settled

pytest.importorskip("jax")

from cputrain import paths
from cputrain.engines import settings
from cputrain.engines.jax_ import executed as jax_executed
from cputrain.engines.jax_.knobs import xla
from cputrain.engines.jax_.schema import JaxEvidence
from cputrain.knobs.inforce import NotInForce, require
from cputrain.machine import isa, jitted
from cputrain.record.part import typed
from cputrain.record.process import Placement

TOY = Path(__file__).parent
ONE = Placement((0,), 1, 1, 1)
JAX = settled(engine="jax", compile="xla")
CHILD = """
import json
from cputrain.engines.jax_ import evidence
from cputrain.machine import jitted
from cputrain.record import files
from toy_step import compiled
step, arguments = compiled()
step(*arguments)[2].block_until_ready()
shown = {"evidence": evidence.look(step), "vectors": jitted.vectors()}
print(files.encode(shown).decode())
"""
has_objdump = pytest.mark.skipif(
    xla.Xla().why_not(JAX.but(instruction_set="avx2")) is not None, reason="needs objdump"
)


def child(env):
    """A step compiled and run in a fresh process with these variables."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env = {**kept, "PYTHONPATH": f"{paths.PROJECT}:{TOY}", "NPROC": "1", **env}
    done = subprocess.run([sys.executable, "-c", CHILD], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    shown = json.loads(done.stdout.splitlines()[-1])
    return shown | {"evidence": typed(JaxEvidence, shown["evidence"])}


def seen_under(experiment):
    return child(settings.environment(experiment, ONE))


@pytest.fixture(scope="module")
def native():
    return seen_under(JAX)


@has_objdump
def test_fusion_is_off_where_it_is_to_be_off(native):
    off = JAX.but(fusion=False)
    seen = seen_under(off)["evidence"]
    require(jax_executed.fusion(off, seen))
    require(jax_executed.fusion(JAX, native["evidence"]))
    with pytest.raises(NotInForce, match="loops of several operations: asked for 0"):
        require(jax_executed.fusion(off, native["evidence"]))
    with pytest.raises(NotInForce, match="loops of several operations: asked for > 0, found 0"):
        require(jax_executed.fusion(JAX, seen))
    with pytest.raises(NotInForce, match="library calls"):
        require(jax_executed.fusion(off, structs.replace(seen, calls_of_several=1)))


@has_objdump
@pytest.mark.parametrize("level", ["avx2", "baseline"])
def test_a_cap_reaches_all_code_and_without_it_the_checks_fail(level, native):
    experiment = JAX.but(instruction_set=level)
    if reason := isa.why_not("avx2"):
        pytest.skip(reason)
    seen = seen_under(experiment)
    assert len(xla.capped(level, seen["vectors"])) == 2
    require(xla.capped(level, seen["vectors"]))
    require(jax_executed.instructions(experiment, seen["evidence"]))
    assert seen["evidence"].products_by_library.keys() == {"xla"}
    if level == "avx2" and isa.why_not("avx512") is not None:
        return  # there is nothing above it
    written, _ = xla.capped(level, native["vectors"])
    assert not written.ok
    target, libraries = jax_executed.instructions(experiment, native["evidence"])
    assert not target.ok
    # YNNPACK multiplies unless it is told not to; which products it takes is up to XLA.
    assert libraries.ok == ("ynnpack" not in native["evidence"].products_by_library)


@has_objdump
def test_a_onednn_that_was_not_capped_is_found():
    """The toy's own flags are right; the other library was not told."""
    if reason := isa.why_not("avx2"):
        pytest.skip(reason)
    env = settings.environment(JAX.but(instruction_set="baseline"), ONE)
    seen = child({name: env[name] for name in env.keys() - {"ONEDNN_MAX_CPU_ISA"}})
    of_xla, of_onednn = xla.capped("baseline", seen["vectors"])
    assert of_xla.ok and not of_onednn.ok


def test_nothing_looked_at_is_not_in_force(native):
    assert not xla.capped("avx2", {})[0].ok
    nothing = structs.replace(native["evidence"], target=[], products_by_library={})
    (target, _) = jax_executed.instructions(JAX.but(instruction_set="avx2"), nothing)
    assert not target.ok


def test_flags_are_joined_and_nobody_else_has_any():
    both = xla.flags(JAX.but(fusion=False, instruction_set="baseline"))
    assert both == [
        "--xla_disable_hlo_passes=fusion",
        "--xla_cpu_max_isa=SSE4_2",
        "--xla_cpu_experimental_ynn_fusion_type=",
    ]
    assert xla.flags(JAX) == []
    assert "XLA_FLAGS" not in settings.environment(settled(instruction_set="avx2"), ONE)
    assert "XLA_FLAGS" not in settings.environment(JAX, ONE)


def test_an_unknown_flag_would_end_the_process():
    with pytest.raises(AssertionError, match="Unknown flag"):
        child({"XLA_FLAGS": "--xla_no_such_flag=1"})


LISTING = """
   0:\tvaddps (%rdi),%ymm0,%ymm1
   4:\tvaddps %zmm0,%zmm1,%zmm2
   8:\tvmovups %ymm17,(%rax)
   c:\tkmovw  %eax,%k1
  10:\taddss  %xmm0,%xmm1
  14:\tvaddss %xmm0,%xmm1,%xmm2
  18:\tmov    %rax,%rbx
"""


def test_instructions_are_told_by_their_registers():
    assert jitted.kinds(LISTING) == {"avx": 2, "avx512": 3, "sse": 1}


def test_a_missing_objdump_is_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "objdump" in xla.Xla().why_not(JAX.but(instruction_set="avx2"))
    assert xla.Xla().why_not(JAX) is None
    assert not any(isinstance(knob, xla.Xla) for knob in settings.knobs(settled()))
