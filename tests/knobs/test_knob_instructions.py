"""Caps of instruction sets: the libraries of real processes obey, and a lie is named."""

import json
import os
import subprocess
import sys

import pytest
from settled import settled

from cputrain.knobs import instructions
from cputrain.knobs.inforce import NotInForce, require
from cputrain.knobs.instructions import CAPS, SILENT, Instructions
from cputrain.machine import isa
from cputrain.record.process import Placement
from cputrain.run import placement

ONE_CPU = Placement((0,), 1, 1, 1)
KNOB = Instructions()
TORCH = "from cputrain.engines.torch_ import readings as r; said = r.instruction_sets()"
NUMPY = """
import numpy as np
from threadpoolctl import threadpool_info
pools = [p["architecture"] for p in threadpool_info() if p["internal_api"] == "openblas"]
said = {"openblas": pools, "numpy": np.show_config(mode="dicts")["SIMD Extensions"].get("found")}
"""
HAS_AVX512 = isa.why_not("avx512") is None
has_avx2 = pytest.mark.skipif(isa.why_not("avx2") is not None, reason=str(isa.why_not("avx2")))


def asking(level, **changes):
    return settled(instruction_set=level, **changes)


def said_by(code, level):
    """What the libraries of a fresh process under the cap `level` say."""
    caps = KNOB.environment(asking(level), ONE_CPU)
    env = {**os.environ, **caps, "OMP_NUM_THREADS": "1"}
    code = f"{code}\nimport json; print(json.dumps(said))"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]
    return json.loads(done.stdout.splitlines()[-1])


@has_avx2
def test_torch_s_libraries_obey_and_none_of_them_lies():
    pytest.importorskip("torch")
    from cputrain.engines.torch_ import readings

    said = {"native": readings.instruction_sets(), **{cap: said_by(TORCH, cap) for cap in CAPS}}
    for level in CAPS:
        checks = instructions.in_force(level, said[level])
        assert len(checks) == 3
        require(checks)
    lies = [("avx2", "baseline"), ("baseline", "avx2"), ("baseline", "native")]
    for level, other in [*lies, *([("avx2", "native")] if HAS_AVX512 else [])]:
        aten, onednn, _ = instructions.in_force(level, said[other])
        assert not aten.ok and not onednn.ok
    # COMPATIBLE acts on CPUs of every make, and only baseline asks for it.
    assert said["baseline"]["mkl_mode"] == "COMPATIBLE"
    for other in ("native", "avx2"):
        with pytest.raises(NotInForce, match="code path of MKL: asked for COMPATIBLE, found off"):
            require(instructions.in_force("baseline", said[other])[-1:])


@has_avx2
def test_numpy_s_libraries_obey_and_none_of_them_lies():
    pytest.importorskip("threadpoolctl")
    said = {level: said_by(NUMPY, level) for level in ("native", "avx2", "baseline")}
    for level in CAPS:
        require(instructions.in_force(level, said[level]))
        if level == "baseline" or HAS_AVX512:
            with pytest.raises(NotInForce, match="NumPy"):
                require(instructions.in_force(level, {"numpy": said["native"]["numpy"]}))
    for level, other in (("avx2", "baseline"), ("baseline", "avx2")):
        with pytest.raises(NotInForce, match="OpenBLAS"):
            require(instructions.in_force(level, {"openblas": said[other]["openblas"]}))


MKL_512 = "Intel(R) Advanced Vector Extensions 512 (Intel(R) AVX-512) enabled processors"
MKL_2 = "Intel(R) Advanced Vector Extensions 2 (Intel(R) AVX2) enabled processors"


@pytest.mark.parametrize(
    ("said", "ok", "actual"),
    [
        (MKL_2, True, MKL_2),
        (MKL_512, False, MKL_512),
        ("Intel(R) Architecture processors", True, SILENT),
        (None, True, SILENT),
    ],
)
def test_mkl_names_intel_s_instructions_only(said, ok, actual):
    (check,) = instructions.in_force("avx2", {"mkl": said, "mkl_mode": "off"})
    assert (check.ok, check.actual) == (ok, actual)


def test_of_several_openblas_each_is_looked_at():
    (check,) = instructions.in_force("avx2", {"openblas": ["Haswell", "SkylakeX"]})
    assert not check.ok
    (check,) = instructions.in_force("avx2", {"openblas": []})
    assert not check.ok  # none that could be capped


@pytest.mark.parametrize(
    ("flags", "level", "reason"),
    [
        ("sse2 ssse3 sse4_1 sse4_2 popcnt", "native", None),
        ("sse2 ssse3 sse4_1 sse4_2 popcnt", "baseline", None),
        ("sse2 ssse3 sse4_1 sse4_2 popcnt avx fma f16c bmi2", "avx2", "this CPU has no avx2"),
        ("sse2", "baseline", "this CPU has no ssse3 and no sse4_1 and no sse4_2 and no popcnt"),
    ],
)
def test_nothing_above_the_hardware_is_asked_for(tmp_path, flags, level, reason):
    """torch would take it at its word, and the worker would be killed by SIGILL."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(f"processor\t: 0\nflags\t: {flags}\n")
    assert KNOB.why_not(asking(level), tmp_path) == reason


def test_on_another_architecture_the_caps_are_none(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert KNOB.why_not(asking("native"), tmp_path) is None
    assert "x86" in KNOB.why_not(asking("avx2"), tmp_path)
    assert "x86" in KNOB.why_not(asking("baseline"), tmp_path)


def test_native_asks_for_nothing():
    assert KNOB.environment(asking("native"), ONE_CPU) == {}
    assert KNOB.checks(asking("native"), ONE_CPU, {}) == []


def test_every_level_of_experiments_has_its_cap():
    from cputrain.experiment.system import INSTRUCTION_SETS

    assert {"native", *CAPS} == {*INSTRUCTION_SETS}
    assert all(cap.rung in isa.X86 for cap in CAPS.values())


def test_a_worker_s_environment_has_the_caps():
    env = placement.environment(asking("avx2"), ONE_CPU)
    assert env["ATEN_CPU_CAPABILITY"] == "avx2" and env["ONEDNN_MAX_CPU_ISA"] == "AVX2"
    assert "MKL_CBWR" not in env
