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


def test_code_of_a_worker_that_was_cut_short_is_code_too(session):
    first = compiled.folder(session, STEADY)
    (first.path / "fxgraph").mkdir(parents=True)
    again = compiled.folder(session, STEADY)
    assert again.has_code and not again.is_filled


def test_a_cold_start_never_finds_any(session):
    (compiled.folder(session, STEADY).path / "fxgraph").mkdir(parents=True)
    assert compiled.folder(session, COLD) == compiled.Folder()


def test_nothing_stays_after_the_session(session, tmp_path):
    (compiled.folder(session, STEADY).path / "fxgraph").mkdir(parents=True)
    compiled.remove(session)
    assert list(tmp_path.iterdir()) == []
