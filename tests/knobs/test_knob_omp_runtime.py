"""The OpenMP library: the one that torch calls, not the one that is merely mapped."""

import pytest
from settled import settled

from cputrain import paths
from cputrain.knobs.omp_runtime import OmpRuntime, gnu_in_force
from cputrain.machine import library_search

CALLED, MAPPED = "OpenMP runtime that torch calls", "libiomp5 mapped"
FOLLOWS = "torch's thread count is libiomp5's"


@pytest.fixture
def intel():
    pytest.importorskip("torch")
    if reason := library_search.why_not("libiomp5"):
        pytest.skip(reason)
    return library_search.find("libiomp5")


def test_nothing_is_preloaded_by_default(intel):
    assert OmpRuntime().preload(settled()) == ()
    assert OmpRuntime().why_not(settled()) is None
    assert OmpRuntime().preload(settled(omp_runtime="libiomp5")) == (str(intel),)


def test_a_library_that_is_not_there_is_a_reason_to_skip(monkeypatch):
    monkeypatch.setenv("CPUTRAIN_LIBRARIES", "libiomp5=/nowhere/libiomp5.so")
    monkeypatch.setattr(library_search, "expected", lambda name: False)
    reason = OmpRuntime().why_not(settled(omp_runtime="libiomp5"))
    assert "/nowhere/libiomp5.so" in reason and "\n" not in reason


def test_a_mapped_libiomp5_is_found_where_libgomp_is_asked(tmp_path):
    maps = tmp_path / "proc/self/maps"
    maps.parent.mkdir(parents=True)
    maps.write_text("7f-80 r-xp 0 fe:00 1 /env/lib/libgomp.so.1\n")
    assert all(check.ok for check in gnu_in_force("torch", called=False, root=tmp_path))
    maps.write_text("7f-80 r-xp 0 fe:00 1 /env/lib/libiomp5.so\n")
    assert not any(check.ok for check in gnu_in_force("torch", called=False, root=tmp_path))


def test_torch_s_own_runtime_is_found_where_libiomp5_is_asked(intel):
    from openmp_process import failed, plain

    gnu, lie = plain()["runtimes"]
    assert not failed(gnu) and {CALLED, MAPPED} <= gnu.keys()
    assert failed(lie) == {CALLED} and "libgomp" in lie[CALLED][1]


def test_a_preloaded_libiomp5_gets_torch_s_calls_though_libgomp_is_mapped(intel):
    from openmp_process import RUNTIMES, failed, told

    lie, there = told(RUNTIMES, OMP_NUM_THREADS="2", LD_PRELOAD=str(intel))
    assert failed(lie) == {CALLED, MAPPED}
    assert not failed(there)
    assert there[CALLED] == [True, str(intel.resolve())] and there[FOLLOWS] == [True, "True"]


def test_a_libiomp5_that_comes_too_late_is_found(intel, tmp_path):
    """Mapped, but behind torch's libgomp: no call gets to it."""
    from openmp_process import RUNTIMES, failed, told

    late = tmp_path / "sitecustomize.py"
    late.write_text(
        f"import torch, ctypes, sys\nctypes.CDLL({str(intel)!r}, mode=ctypes.RTLD_GLOBAL)\n"
    )
    path = f"{tmp_path}:{paths.PROJECT}"
    gnu, lie = told(RUNTIMES, OMP_NUM_THREADS="2", PYTHONPATH=path)
    assert failed(gnu) == {MAPPED}
    assert failed(lie) == {CALLED}
