"""Pairs of workers of two sides: real conductors and workers, of the NumPy engine."""

import itertools
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from settled import settled

from cputrain.analysis.counted import counted
from cputrain.errors import RunError
from cputrain.record import files
from cputrain.record.cell import CellKey
from cputrain.record.releases import ReleaseSide
from cputrain.run.failed import CellFailed
from cputrain.run.session import Session
from cputrain.sweep.paired import conducted as conductors
from cputrain.sweep.paired import running
from cputrain.sweep.releases import pairing
from cputrain.sweep.releases.chosen import ChosenCell
from cputrain.sweep.releases.sides import Side, conduct

pytest.importorskip("threadpoolctl")
pytest.importorskip("safetensors")
TINY = settled(
    engine="numpy", n_layer=1, n_embd=32, n_head=2, seq_len=32, cores=1, learning_rate=0.003
).but(warm_up_steps=3, tries=1)
KEY = CellKey("Width", (32, "numpy"))


def side(label, **changes):
    record = ReleaseSide(label=label, installed={}, commit=label * 4)
    return replace(Side(record, Path(sys.executable)), **changes)


@pytest.fixture
def conducted(own_root):
    """Two sides, in one environment."""
    session = Session(id="one", run="one", machine="here", offline=True, model_cap_bytes=0)
    made = []
    for place, label in enumerate("ab"):
        made.append(conduct(side(label, root=own_root), session, place))
    yield made
    for each in made:
        each.close()


def test_fresh_workers_of_two_sides_take_turns_and_prove(conducted, own_root):
    cell = ChosenCell(KEY, (TINY, TINY))
    taken = pairing.take(cell, 1, (0, 1), conducted)
    assert (taken.status, taken.reason) == ("ok", None)
    reference, worker = taken.reference, taken.worker
    assert (reference.commit, worker.commit) == ("aaaa", "bbbb")
    assert worker.reference == reference.id != worker.id and reference.forked is False
    assert len(worker.pairs) == len(taken.steps_done) >= 3
    orders = [pair.first for pair in worker.pairs]
    assert all(order != following for order, following in itertools.pairwise(orders))
    steps = [done for done, _ in taken.steps_done]
    assert steps == sorted({*steps})
    assert reference.trained.parameters_moved and worker.trained.parameters_moved
    assert reference.first_loss == worker.first_loss
    assert counted([worker]).pairs == len(worker.pairs)
    assert files.decode(files.encode(taken), type(taken), 1) == taken
    assert not list(own_root.rglob("*.safetensors")) and not list(own_root.rglob("run.json"))


def test_a_side_beside_itself_is_marked_as_noise(conducted):
    taken = pairing.take(ChosenCell(KEY, (TINY, TINY)), 1, (0, 0), conducted)
    assert taken.status == "ok" and taken.is_identical
    assert taken.reference.id != taken.worker.id


def test_which_side_starts_first_changes_from_pass_to_pass(conducted, monkeypatch):
    started, start = [], running.start

    def noted(of, experiment):
        started.append(of.label)
        return start(of, experiment)

    monkeypatch.setattr(running, "start", noted)
    for number in (1, 2):
        taken = pairing.take(ChosenCell(KEY, (TINY, TINY)), number, (0, 1), conducted)
        assert (taken.reference.commit, taken.worker.commit) == ("aaaa", "bbbb")
    assert started == ["a", "b", "b", "a"]


def test_a_worker_that_gives_no_number_is_said_and_the_next_pair_goes_on(conducted):
    bad = TINY.but(deadline_s=1, steps=10**9)
    taken = pairing.take(ChosenCell(KEY, (TINY, bad)), 1, (0, 1), conducted)
    assert taken.status == "timed out" and taken.worker is None
    again = pairing.take(ChosenCell(KEY, (TINY, TINY)), 2, (0, 1), conducted)
    assert again.status == "ok"


def test_a_side_whose_interpreter_cannot_start_is_an_error(own_root):
    session = Session(id="two", run="two", machine="here", offline=True)
    with pytest.raises(RunError, match="broken: "):
        conduct(side("broken", python=Path("/bin/false"), root=own_root), session, 0)


def test_a_side_whose_conductor_cannot_be_reached_leaves_none(own_root, monkeypatch):
    session = Session(id="three", run="three", machine="here", offline=True)
    started, listening = [], conductors.Listening

    def noted(*words):
        started.append(listening(*words))
        return started[0]

    def refused(path):
        raise CellFailed("failed", f"{path}: Connection refused")

    monkeypatch.setattr(conductors, "Listening", noted)
    monkeypatch.setattr(conductors, "Lease", refused)
    with pytest.raises(RunError, match=r"far: .*: Connection refused"):
        conduct(side("far", root=own_root), session, 0)
    (conductor,) = started
    try:
        assert conductor.why_lost() is not None
        assert not conductor.path.exists()
    finally:
        conductor.close()
