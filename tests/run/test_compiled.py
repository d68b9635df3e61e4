"""Where workers keep compiled code, and when they find some."""

import pytest
from settled import settled

from cputrain.run import compiled
from cputrain.run.session import Session

pytestmark = pytest.mark.tools

STEADY = settled(compile="inductor")
COLD = STEADY.but(jit_state="cold")


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "COMPILED", tmp_path)
    return Session(id="s", run="r", machine="m", driven=True)


def test_a_worker_finds_what_an_earlier_one_has_compiled(session):
    first = compiled.folder(session, STEADY)
    assert not first.has_code and first.stays
    first.path.mkdir(parents=True)
    first.fill()
    again = compiled.folder(session, STEADY)
    assert again.path == first.path and again.is_filled and again.has_code


@pytest.mark.parametrize("state", ["steady", "cold", "warm"])
def test_code_of_a_worker_that_was_cut_short_is_left_alone(session, state):
    first = compiled.folder(session, STEADY)
    (first.path / "fxgraph").mkdir(parents=True)
    again = compiled.folder(session, STEADY.but(jit_state=state))
    assert again.path != first.path and not again.has_code and not again.is_filled


def test_what_a_cold_start_has_compiled_a_warm_one_finds(session):
    cold = compiled.folder(session, COLD)
    assert cold.stays and not cold.has_code
    cold.path.mkdir(parents=True)
    cold.fill()
    assert compiled.folder(session, STEADY.but(jit_state="warm")).is_filled


def test_jax_s_steady_steps_use_no_cache(session):
    jax = settled(engine="jax", compile="xla")
    assert compiled.folder(session, jax) == compiled.Folder()
    assert compiled.folder(session, jax.but(jit_state="cold")).stays


def test_steady_workers_share_headers_and_a_cold_start_has_none(session):
    first = compiled.folder(session, STEADY)
    assert not first.has_code
    first.open()
    ((first.path / "tmp").resolve() / "header").touch()
    other = compiled.folder(session, STEADY.but(n_layer=3))
    assert other.has_code and not other.is_filled
    other.open()
    assert (other.path / "tmp" / "header").exists()
    assert not compiled.folder(session, COLD.but(n_layer=1)).has_code
    assert compiled.folder(session, STEADY.but(compile="aot_eager")).headers is None


def test_the_headers_of_a_cold_start_are_there_for_steady_workers(session):
    cold = compiled.folder(session, COLD)
    cold.open()
    (cold.path / "tmp").mkdir(parents=True)
    (cold.path / "tmp" / "header").touch()
    assert not compiled.folder(session, STEADY.but(n_layer=3)).has_code
    cold.fill()
    steady = compiled.folder(session, STEADY.but(n_layer=3))
    steady.open()
    assert (steady.path / "tmp" / "header").exists()


def test_code_of_gxx_runs_on_any_openmp(session):
    first, other = STEADY, STEADY.but(omp_runtime="libiomp5")
    assert compiled.folder(session, first).path == compiled.folder(session, other).path
    clang = compiled.folder(session, other.but(cxx="clang++"))
    assert clang.path != compiled.folder(session, other).path


def test_a_cold_start_never_finds_any(session):
    (compiled.folder(session, STEADY).path / "fxgraph").mkdir(parents=True)
    assert compiled.folder(session, COLD) == compiled.Folder()


def test_nothing_stays_after_the_session(session, tmp_path):
    (compiled.folder(session, STEADY).path / "fxgraph").mkdir(parents=True)
    compiled.remove(session)
    assert list(tmp_path.iterdir()) == []
