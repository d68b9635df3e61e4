"""Real turns: conductors, workers beside torch, and their records.

But in the first test NumPy stands for torch: it is imported in a tenth of the time.
"""

import sys
from pathlib import Path

import psutil
import pytest
from settled import settled

pytest.importorskip("torch")

from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.results import records
from cputrain.run import references, stacks
from cputrain.run.session import Session
from cputrain.sweep import plan
from cputrain.sweep.paired import running
from cputrain.sweep.paired.conducted import Conducted
from cputrain.sweep.side_by_side import lineup
from cputrain.sweep.side_by_side.rounds import Rounds

SMALL = settled(n_layer=1, n_embd=64, seq_len=32, cores=1).but(tries=1, warm_up_steps=2)
NUMPY = SMALL.but(engine="numpy", attention_backend="manual")
BAD = NUMPY.but(learning_rate=0.0)
OTHER = NUMPY.but(mlp_ratio=2)


def block(**experiments):
    """One block, by engine; what runs beside them all is called torch."""
    cells = (plan.PlannedCell(("Shape", n, 1), e, None) for n, e in experiments.items())
    return plan.Planned("", "", object, tuple(cells))


@pytest.fixture
def run(own_root, monkeypatch):
    """A run in a folder of its own, of as few pairs as can be."""
    monkeypatch.setattr(running, "PAIRS", running.FEWEST_PAIRS)
    session = Session(id="one", run="one", machine="here", offline=True, model_cap_bytes=0)
    conducted = Conducted("main", Path(sys.executable), session)
    yield Rounds(own_root / "output" / "here" / "engines", {stacks.MAIN: conducted}, 3)
    conducted.close()


@pytest.fixture
def live():
    """The live workers that the test has started; conductors of other tests may have some too."""

    def workers():
        below = psutil.Process().children(recursive=True)
        there = [each for each in below if each.status() != psutil.STATUS_ZOMBIE]
        return [each for each in there if "cputrain.worker.job" in " ".join(each.cmdline())]

    of_others = {each.pid for each in workers()}
    return lambda: [each for each in workers() if each.pid not in of_others]


def take(run, planned, rounds=1):
    """The turns taken: turn, worker, seconds left."""
    told = []
    turns = list(lineup.turns([planned], rounds, seed=3))
    run.take(turns, lambda turn, worker, left: told.append((turn, worker, left)))
    return told


def record(run, name):
    """The run record of an engine."""
    return records.read_file(run.folder / f"Shape-{name}-1" / "run.json", "here")


def read_references(run):
    """The workers of torch that others ran beside."""
    path = run.folder / "Shape-torch-1" / references.FILE
    return files.read(path, CellRecord, SCHEMA).workers


def test_engines_train_beside_one_worker_of_torch_in_each_round(run):
    told = take(run, block(torch=SMALL, numpy=NUMPY), rounds=2)
    assert [worker.status for _, worker, _ in told] == ["ok"] * 4
    assert (run.done, run.lost, run.without) == (4, {}, {})
    assert all(left > 0 for _, _, left in told[:-1]) and told[-1][2] == 0
    beside = read_references(run)
    assert len(beside) == 2 and all(w.ok and w.trained.parameters_moved for w in beside)
    for turn, worker, _ in told:
        assert worker.forked is False and worker.phases["import_s"] > 0
        assert worker.turn.seed == 3 and worker.turn.place == turn.place
        assert worker.reference == beside[turn.round - 1].id != worker.id
        assert len(worker.pairs) >= running.FEWEST_PAIRS and worker.in_force
        assert worker.trained.parameters_moved == worker.trained.parameters
        assert worker.first_loss == pytest.approx(beside[0].first_loss, rel=1e-4)
    assert {w.experiment["runtime"]["engine"] for w in beside} == {"torch"}
    for name, places in (("torch", (0, 0)), ("numpy", (0, 1))):
        assert [w.turn.round for w in record(run, name).workers] == [1, 2]
        pairs = run.taken["Shape", name, 1]
        assert [pair.sides for pair in pairs] == [places] * 2
        assert [pair.reference.id for pair in pairs] == [w.id for w in beside]
    assert not list(run.folder.rglob("*.safetensors"))


def test_an_engine_that_fails_costs_its_own_cells_and_takes_no_more_turns(run):
    told = take(run, block(torch=NUMPY, numpy=NUMPY, bad=BAD), rounds=2)
    statuses = sorted((turn.cell.values[1], worker.status) for turn, worker, _ in told)
    assert statuses == [("bad", "failed"), *[("numpy", "ok")] * 2, *[("torch", "ok")] * 2]
    ((values, lost),) = run.lost.items()
    assert values[1] == "bad" and lost.status == "failed" and "DidNotTrain" in lost.reason
    (kept,) = record(run, "bad").workers
    assert kept.status == "failed" and kept.reason == lost.reason


def test_torch_that_does_not_train_costs_all_that_run_beside_it_and_is_asked_once(run):
    told = take(run, block(torch=BAD, numpy=NUMPY))
    assert [worker.status for _, worker, _ in told] == ["failed"] * 2
    for _, worker, _ in told:
        assert worker.reason.startswith("the reference beside it: DidNotTrain")
    assert run.lost == {} and len(run.without) == 2 and run.taken == {}
    assert not list(run.folder.rglob("run.json"))


def test_where_torch_was_killed_the_next_engine_has_another_one(run, live, monkeypatch):
    refer, ids = running.refer, []

    def killed_once(of, experiment):
        reference = refer(of, experiment)
        ids.append(reference.record.id)
        if len(ids) == 1:
            (worker,) = live()
            worker.kill()
        return reference

    monkeypatch.setattr(running, "refer", killed_once)
    first, second = (worker for _, worker, _ in take(run, block(torch=NUMPY, numpy=NUMPY)))
    assert first.status == "failed" and "the reference beside it" in first.reason
    assert second.status == "ok" and ids[0] != ids[1] == second.reference
    assert run.lost == {} and run.done == 1


def test_what_the_machine_has_not_is_skipped_with_the_reason(run):
    planned = block(torch=NUMPY, ipex=SMALL.but(engine="ipex"), numpy=NUMPY)
    cells = (*planned.cells[:2], plan.PlannedCell(("Shape", "numpy", 1), NUMPY, "not here"))
    planned = plan.Planned("", "", object, cells)
    turns = take(run, planned)
    told = {turn.cell.values[1]: worker for turn, worker, _ in turns}
    assert told["torch"].status == "ok"
    assert (told["numpy"].status, told["numpy"].reason) == ("skipped", "not here")
    assert told["ipex"].status == "skipped" and "run --ipex" in told["ipex"].reason
    assert len(run.lost) == 2
    names = [turn.cell.values[1] for turn, _, _ in turns]
    assert names[-1] != "torch"  # what follows it is skipped, and takes no time
    assert {left for _, _, left in turns[names.index("torch") :]} == {0}


def test_a_worker_that_is_killed_is_a_failure_and_leaves_none(run, live, monkeypatch):
    take_pairs = running.take_pairs

    def killed(reference, worker):
        if worker.record.experiment == OTHER.to_json():
            max(live(), key=lambda each: each.create_time()).kill()
        return take_pairs(reference, worker)

    monkeypatch.setattr(running, "take_pairs", killed)
    told = take(run, block(torch=NUMPY, numpy=OTHER))
    statuses = {turn.cell.values[1]: worker for turn, worker, _ in told}
    assert statuses["torch"].status == "ok" and statuses["numpy"].status == "failed"
    assert "SIGKILL" in statuses["numpy"].reason
    assert len(live()) == 1  # torch, beside which others may run
    assert record(run, "numpy").workers[-1].status == "failed"


def test_a_record_that_cannot_be_written_is_the_cell_s_failure(run):
    run.folder.mkdir(parents=True)
    (run.folder / "Shape-numpy-1").write_text("in the way")
    turns = take(run, block(torch=NUMPY, numpy=NUMPY))
    told = {turn.cell.values[1]: worker for turn, worker, _ in turns}
    assert told["torch"].status == "ok" and told["numpy"].status == "failed"
    assert "directory" in told["numpy"].reason
