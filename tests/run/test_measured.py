"""What a pass has measured is not measured again."""

import pytest

from cputrain import paths
from cputrain.run import measured
from cputrain.run.session import Session

pytestmark = pytest.mark.tools


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "STATE", tmp_path)
    return Session(id="s", run="r", machine="m")


def test_a_cell_finds_itself_and_others_only_where_it_may(session, tmp_path):
    first, second = str(tmp_path / "A"), str(tmp_path / "B")
    measured.note(session, ("e", "r", first))
    assert str(measured.earlier(session, ("e", "r", second), others=True)) == first
    assert measured.earlier(session, ("e", "r", second), others=False) is None
    assert str(measured.earlier(session, ("e", "r", first), others=False)) == first


@pytest.mark.parametrize("what", [("other", "r"), ("e", "other"), ("e", "")])
def test_another_experiment_or_reference_is_another_measurement(session, tmp_path, what):
    measured.note(session, ("e", "r", str(tmp_path / "A")))
    assert measured.earlier(session, (*what, str(tmp_path / "B")), others=True) is None


def test_each_pass_measures_anew(session, tmp_path):
    measured.note(session, ("e", "r", str(tmp_path / "A")))
    later = Session(id="s", run="r", machine="m", number=2)
    assert measured.done(later) == []
    measured.note(later, ("e", "r", str(tmp_path / "A")))
    measured.forget(session)
    assert measured.done(session) == measured.done(later) == []


@pytest.mark.parametrize("cut", [b'["e", "r", "/out/B', b"\0\0\0\0", b"\xff", b'["e"]'])
def test_a_line_that_a_power_cut_left_is_measured_again(session, tmp_path, cut):
    measured.note(session, ("e", "r", str(tmp_path / "A")))
    (path,) = tmp_path.glob("measured-*")
    path.write_bytes(path.read_bytes() + b"\n" + cut)
    measured.note(session, ("e", "r", str(tmp_path / "C")))
    assert [folder for *_, folder in measured.done(session)] == [
        str(tmp_path / "A"),
        str(tmp_path / "C"),
    ]


def test_without_bench_every_cell_is_measured(session, tmp_path):
    by_hand = Session(id="s", run="r", machine="m", driven=False)
    measured.note(by_hand, ("e", "r", str(tmp_path / "A")))
    assert measured.earlier(by_hand, ("e", "r", str(tmp_path / "A")), others=True) is None


def test_a_model_is_shared_and_not_copied(tmp_path):
    model, mine = tmp_path / "A" / "model", tmp_path / "B" / "model"
    model.parent.mkdir()
    model.write_bytes(b"weights")
    measured.take_over(mine, model)
    measured.take_over(mine, model)
    assert mine.samefile(model)
    model.unlink()
    measured.take_over(mine, model)
    assert not mine.exists()
