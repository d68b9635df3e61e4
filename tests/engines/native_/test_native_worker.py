"""Real workers of the native engine: who builds its library, and what is in force."""

import json

import lease_here
import pytest
from toy_sources import COMPILERS, asking, why_no

from cputrain.engines import ahead, settings
from cputrain.engines.native_ import library_build
from cputrain.record.cell import CellKey
from cputrain.run import fresh
from cputrain.run.cell import CellRun
from cputrain.run.failed import CellFailed

pytest.importorskip("threadpoolctl")
pytest.importorskip("safetensors")
SMALL = {"n_layer": 1, "n_embd": 32, "n_head": 2, "seq_len": 64}
SMALL |= {"steps": 4, "samples": 1, "tries": 1}


def run(experiment):
    cell = CellRun(CellKey("Trial", ("x",)), experiment.but(warm_up_steps=4, **SMALL))
    cell.sample()
    cell.settle()
    return json.loads((cell.folder / "run.json").read_text())["workers"][-1]


@pytest.mark.skipif("gcc" not in COMPILERS, reason=str(why_no("gcc")))
def test_a_worker_builds_what_is_missing_in_a_phase_of_its_own(own_root, here, monkeypatch):
    experiment = asking(level="O2", lto=True, omp_schedule="dynamic,4")
    record = run(experiment)
    assert record["status"] == "ok" and record["phases"]["native_build_s"] > 0
    assert library_build.place(experiment).exists()
    checks = {check["name"]: check for check in record["in_force"]}
    assert checks["vector_instructions"]["found"].keys() == {"zmm", "ymm", "xmm_packed"}
    assert checks["link-time optimization of the native engine"]["found"] is True
    assert checks["OpenMP's schedule of loops"]["found"] == "dynamic,4"
    assert checks["denormal numbers flushed to zero"]["found"] is False
    pools = [pool for pool in record["readings"]["threadpools"] if pool["user_api"] == "blas"]
    assert [pool["num_threads"] for pool in pools] == [1]  # NumPy's, which spins at its start

    other = asking(level="O0", omp_schedule="guided")
    ahead.libraries([other], lambda line: None)
    assert "native_build_s" not in run(other)["phases"]

    honest = fresh.environment
    lie = {"OMP_SCHEDULE": "static"}
    lease_here.lie(monkeypatch, lambda *given: honest(*given) | lie)
    with pytest.raises(CellFailed, match="schedule of loops: asked for guided,1, found static"):
        run(other)


@pytest.mark.skipif("clang" not in COMPILERS, reason=str(why_no("clang")))
def test_clang_s_library_runs_on_libiomp5(leased):
    record = run(asking("clang", "Ofast", threads=2))
    actual = {check["name"]: str(check["found"]) for check in record["in_force"]}
    assert record["status"] == "ok" and actual["compiler of the native engine"] == "clang"
    assert "libiomp5" in actual["OpenMP runtime that the native engine is bound to"]


def test_every_setting_has_a_place_among_the_knobs():
    kinds = {type(knob).__name__ for knob in settings.knobs(asking())}
    assert {"NativeCompiler", "OmpSchedule"} <= kinds
