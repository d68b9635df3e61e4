"""The library of matrix products: what it needs, what the worker is told, real workers of each."""

import importlib.machinery
import json
import platform
import sys
from pathlib import Path

import lease_here
import pytest
from settled import FEW_STEPS, settled

from benchmarks.system import MatmulBackend
from cputrain.engines import settings, specs
from cputrain.engines.torch_.knobs import matmul as torch_matmul
from cputrain.experiment import Experiment
from cputrain.knobs import matmul
from cputrain.knobs.inforce import NotInForce, require
from cputrain.machine import library_search
from cputrain.record.cell import CellKey
from cputrain.run import fresh, placement
from cputrain.run.cell import CellRun
from cputrain.run.failed import CellFailed

NUMPY = settled(engine="numpy", attention_backend="manual")
NATIVE = NUMPY.but(engine="native")
SMALL = {"n_layer": 1, "n_embd": 64, "seq_len": 32, **FEW_STEPS}


def of(experiment):
    """The setting as the experiment's engine has it."""
    return next(
        knob for knob in settings.knobs(experiment) if type(knob).__name__.endswith("Matmul")
    )


def env_of(experiment):
    return of(experiment).environment(experiment, placement.place(experiment))


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A file that was given; whether it multiplies is for the engine to find out."""
    file = tmp_path / "libgiven.so.1"
    with Path("/proc/self/exe").open("rb") as mine:
        header = mine.read(20)
    file.write_bytes(header[:16] + b"\3\0" + header[18:])  # a shared library of this machine
    monkeypatch.setenv(library_search.VARIABLE, f"mkl={file}:onednn={file}:openblas={file}")
    return file


def test_by_default_nothing_is_asked_told_or_checked():
    for experiment in (settled(), NUMPY):
        assert of(experiment).why_not(experiment) is None
        assert env_of(experiment) == {}
        assert of(experiment).checks(experiment, placement.place(experiment), {}) == []


@pytest.mark.parametrize("name", ["openblas", "mkl", "onednn"])
def test_numpy_is_told_where_its_library_is(name, stand_in):
    experiment = NUMPY.but(matmul_backend=name)
    layers = {"MKL_THREADING_LAYER": "GNU", "MKL_INTERFACE_LAYER": "LP64"}
    expected = {matmul.VARIABLE: str(stand_in)} | (layers if name == "mkl" else {})
    assert env_of(experiment) == expected
    env = placement.environment(experiment, placement.place(experiment))
    assert env.items() >= expected.items()
    if platform.machine() in matmul.X86 or name != "mkl":
        assert of(experiment).why_not(experiment) is None


@pytest.mark.parametrize("name", ["openblas", "mkl"])
def test_the_native_engine_s_library_has_one_thread_for_each_of_its_own(name, stand_in):
    experiment = NATIVE.but(matmul_backend=name, threads=2)
    env = placement.environment(experiment, placement.place(experiment))
    assert env[matmul.VARIABLE] == str(stand_in) and env["OMP_NUM_THREADS"] == "2"
    assert env[f"{name.upper()}_NUM_THREADS"] == "1"
    assert (env.get("MKL_THREADING_LAYER") == "SEQUENTIAL") == (name == "mkl")


def test_threads_of_the_native_engine_s_library_are_found(stand_in, monkeypatch):
    experiment = NATIVE.but(matmul_backend="mkl")
    monkeypatch.setenv(matmul.VARIABLE, str(stand_in))
    path = str(stand_in.resolve())
    pool = {"filepath": path, "threading_layer": "sequential"}
    right = {"blas": {"path": path, "threads": 1}, "threadpools": [pool]}
    require(of(experiment).checks(experiment, None, right))
    lies = (
        {"blas": {"path": path, "threads": 2}},
        {"blas": None},
        {"threadpools": [pool | {"threading_layer": "gnu"}]},
        {"threadpools": []},
    )
    for lie in lies:
        with pytest.raises(NotInForce, match=r"asked for .*, found "):
            require(of(experiment).checks(experiment, None, right | lie))


def test_torch_has_its_libraries_built_in():
    for name in ("mkl", "onednn"):
        experiment = settled(matmul_backend=name)
        assert env_of(experiment) == {}
        assert of(experiment).checks(experiment, placement.place(experiment), {}) == []


def test_a_library_that_is_missing_is_one_line(monkeypatch):
    gone = "/nowhere/libdnnl.so"
    monkeypatch.setenv(library_search.VARIABLE, f"onednn={gone}")
    monkeypatch.setattr(library_search, "expected", lambda name: False)
    reason = settings.why_not(NUMPY.but(matmul_backend="onednn"))
    assert gone in reason and "No such file" in reason and "\n" not in reason


@pytest.mark.parametrize("engine", ["torch", "numpy"])
def test_mkl_on_another_machine_is_one_line(engine, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    experiment = (NUMPY if engine == "numpy" else settled()).but(matmul_backend="mkl")
    assert (
        of(experiment).why_not(experiment) == "MKL is for x86 processors only, and this is aarch64"
    )


@pytest.mark.parametrize("there", [True, False])
def test_a_torch_without_a_way_to_onednn_is_one_line(there, tmp_path, monkeypatch):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").touch()
    text = "@register_meta(torch.ops.mkldnn._linear_pointwise.default)" if there else ""
    (package / torch_matmul.MENTIONED).write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    importlib.machinery.PathFinder.invalidate_caches()
    torch_matmul.why_no_onednn.cache_clear()
    try:
        reason = of(settled(matmul_backend="onednn")).why_not(settled(matmul_backend="onednn"))
    finally:
        torch_matmul.why_no_onednn.cache_clear()
    assert (reason is None) == there
    assert there or "_linear_pointwise" in reason


def test_the_torch_that_is_here_is_recognized():
    torch = pytest.importorskip("torch")
    reason = of(settled(matmul_backend="onednn")).why_not(settled(matmul_backend="onednn"))
    assert (reason is None) == hasattr(torch.ops.mkldnn, "_linear_pointwise")


def test_another_file_or_layer_than_the_asked_one_is_found(stand_in, monkeypatch):
    experiment = NUMPY.but(matmul_backend="mkl")
    place = placement.place(experiment)
    monkeypatch.setenv(matmul.VARIABLE, str(stand_in))
    right = {"path": str(stand_in.resolve()), "threads": place.threads, "threading": "gnu"}
    require(of(experiment).checks(experiment, place, {"blas": right}))
    lies = ({"path": "/usr/lib/libblas.so"}, {"threading": "tbb"}, {"path": None})
    for lie in lies:
        with pytest.raises(NotInForce, match=r"asked for .*, found "):
            require(of(experiment).checks(experiment, place, {"blas": right | lie}))
    with pytest.raises(NotInForce):
        require(of(experiment).checks(experiment, place, {}))


def sampled(experiment):
    cell = CellRun(CellKey("Trial", ("x",)), experiment)
    cell.sample()
    cell.settle()
    return json.loads((cell.folder / "run.json").read_text())["workers"][-1]


@pytest.mark.parametrize("value", MatmulBackend.values[1:])
def test_a_real_worker_of_each_value(value, leased):
    pytest.importorskip("torch")
    experiment = MatmulBackend().experiment(value).but(**SMALL)
    if (reason := placement.why_not(experiment)) is not None:
        pytest.skip(reason)
    record = sampled(experiment)
    assert record["status"] == "ok" and record["last_loss"] < record["first_loss"]
    engine, _, library = value.partition("-")
    about = " ".join(check["name"] for check in record["in_force"])
    assert ("products of a step" if engine == "torch" else "matrix products by library") in about
    assert record["evidence"]["products_by_library"][library] >= 12
    if library == "own":
        assert record["readings"]["blas"] is None
        return
    assert library in record["readings"]["blas"]["name"] or value == "torch-onednn"
    threads = 1 if engine == "native" else record["placement"]["threads"]
    assert record["readings"]["blas"]["threads"] == threads


def test_a_worker_whose_library_is_another_one_fails(own_root, here, monkeypatch):
    pytest.importorskip("torch")
    experiment = NUMPY.but(**SMALL, matmul_backend="openblas")
    if (reason := placement.why_not(experiment)) is not None:
        pytest.skip(reason)
    honest = fresh.environment

    def lying(experiment, place):
        return honest(experiment, place) | {matmul.VARIABLE: "libm.so.6"}

    lease_here.lie(monkeypatch, lying)
    with pytest.raises(CellFailed, match=r"libm.so.6 has no scipy_cblas_sgemm or cblas_sgemm"):
        sampled(experiment)


def test_all_are_beside_the_default_experiment():
    """So what is faster is among the settings that pay: `answers` takes those alone."""
    assert MatmulBackend().experiment("torch") == specs.settle(Experiment())
    assert {MatmulBackend.baseline(value) for value in MatmulBackend.values} == {("torch",)}
