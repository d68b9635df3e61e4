"""The wait policy: what the runtime was told at its start, and only what it reads, counts."""

import pytest
from settled import settled

from cputrain.knobs.waiting import Waiting, in_force, started_with, variables
from cputrain.machine import library_search
from cputrain.machine.openmp import LoadedRuntime

GNU = LoadedRuntime("/env/torch/lib/libgomp.so.1", is_kmp=False)
TOLD, SPINS = "waiting, as {} was told", "blocktime, ms"
POLICIES = [{"wait_policy": name} for name in ("default", "active", "passive", "spin_0")]


def made(tmp_path, environ):
    folder = tmp_path / "proc/self"
    folder.mkdir(parents=True)
    text = "".join(f"{name}={value}\0" for name, value in environ.items())
    (folder / "environ").write_bytes(text.encode())
    return tmp_path


def test_each_policy_is_a_variable_of_the_runtime():
    assert variables("default", "libgomp") == {}
    assert variables("active", "libiomp5") == {"OMP_WAIT_POLICY": "active"}
    assert variables("passive", "libgomp") == {"OMP_WAIT_POLICY": "passive"}
    assert variables("spin_0", "libgomp") == {"GOMP_SPINCOUNT": "0"}
    assert variables("spin_0", "libiomp5") == {"KMP_BLOCKTIME": "0"}
    experiment = settled(wait_policy="spin_0", omp_runtime="libiomp5")
    assert Waiting().environment(experiment, None) == {"KMP_BLOCKTIME": "0"}


@pytest.mark.parametrize(
    ("policy", "environ", "ok"),
    [
        ("default", {"HOME": "/root"}, True),
        ("default", {"OMP_WAIT_POLICY": "active"}, False),
        ("default", {"GOMP_SPINCOUNT": "0"}, False),
        ("active", {"OMP_WAIT_POLICY": "active"}, True),
        ("active", {}, False),
        ("active", {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "0"}, False),
        ("passive", {"OMP_WAIT_POLICY": "active"}, False),
        ("spin_0", {"GOMP_SPINCOUNT": "0"}, True),
        ("spin_0", {"KMP_BLOCKTIME": "0"}, False),
    ],
)
def test_the_environment_at_the_start_is_held_against_what_is_asked(tmp_path, policy, environ, ok):
    root = made(tmp_path, {"PATH": "/bin", **environ, "LANG": "C"})
    (check,) = in_force(policy, variables(policy, "libgomp"), GNU, root)
    assert check.name == TOLD.format("libgomp.so.1")
    assert check.ok is ok


def test_a_variable_set_after_the_start_does_not_count(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    assert "OMP_WAIT_POLICY" not in started_with()


def test_kmp_variables_under_libgomp_are_found():
    pytest.importorskip("torch")
    from openmp_process import failed, told

    name = TOLD.format("libgomp.so.1")
    experiments = [{"wait_policy": "spin_0", "omp_runtime": "libiomp5"}, *POLICIES]
    lie, default, *others = told(experiments, OMP_NUM_THREADS="2", KMP_BLOCKTIME="0")
    assert lie.keys() & {SPINS} == set()
    assert any(check.startswith("waiting") for check in failed(lie))
    assert not any(check.startswith("waiting") for check in failed(default))
    for checks in others:
        (waiting,) = (check for check in checks if check.startswith("waiting"))
        assert waiting in failed(checks), name


def test_gnu_s_variable_under_libiomp5_is_found():
    pytest.importorskip("torch")
    from openmp_process import failed, told

    if reason := library_search.why_not("libiomp5"):
        pytest.skip(reason)
    preload = {"OMP_NUM_THREADS": "2", "LD_PRELOAD": str(library_search.find("libiomp5"))}
    experiments = [{**changes, "omp_runtime": "libiomp5"} for changes in POLICIES]
    _, active, passive, spin_0 = told(experiments, GOMP_SPINCOUNT="0", **preload)
    for checks in (active, passive, spin_0):
        assert failed(checks) == {TOLD.format("libiomp5.so"), SPINS}
        assert checks[SPINS][1] == "200"
