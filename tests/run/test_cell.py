"""A cell's record from its first state to its last, in real workers."""

import dataclasses
import json

import pytest
from found_suites import ALL

pytest.importorskip("torch")

from cputrain import paths
from cputrain.experiment import Experiment
from cputrain.record.cell import CellKey
from cputrain.results import records
from cputrain.run import recording, stacks
from cputrain.run.cell import CellRun
from cputrain.run.failed import CellFailed

SMALL = Experiment().but(n_layer=1, n_embd=32, seq_len=16)
SMALL = SMALL.but(steps=3, samples=2, tries=1, warm_up_steps=2)
KEY = CellKey("Trial", ("x",))


def record_of(cell):
    """The last worker of the cell's record, read strictly."""
    return records.read_file(cell.folder / "run.json", "here").workers[-1]


def test_a_worker_is_unproven_until_its_training_gates_have_passed(leased):
    cell = CellRun(KEY, SMALL)
    assert cell.record.status == "unproven"
    cell.sample()
    cell.settle()
    half = record_of(cell)
    assert half.status == "unproven" and len(half.samples) == 1 and half.trained is None
    cell.sample()
    cell.settle()
    whole = record_of(cell)
    assert whole.ok and len(whole.samples) == 2 and whole.id == half.id
    assert whole.trained.steps_done == whole.trained.steps_taken == whole.steps_done
    assert whole == cell.record


def test_steps_off_the_clock_are_time_in_training_steps_too(leased, monkeypatch):
    events = leased / "events.jsonl"
    monkeypatch.setenv("CPUTRAIN_EVENTS", str(events))
    key = CellKey("Trial", ("x",), baseline="b")
    # Beside other load, threads that wait for each other have steps so long that none is discarded.
    small = SMALL.but(cores=1, threads=1)
    own = small.but(seq_len=24)  # no other test's reference: a conductor of all keeps its last one
    cell = CellRun(key, small.but(seq_len=32), reference=own)
    for _ in range(cell.begin(fewer=False)):
        cell.sample()
        cell.settle()
    worker = record_of(cell)
    beside = [pair.reference for pair in [*worker.pairs, *worker.spoilt_pairs]]
    assert all(block.discarded_s > 0 for block in [*worker.samples, *beside])
    beside_s = sum(sum(block.step_s) + block.discarded_s for block in beside)
    line = json.loads(events.read_text().splitlines()[-1])
    expected_s = worker.training_s + cell.reference_s + beside_s
    assert line["training_s"] == pytest.approx(expected_s)


def test_torch_of_ipex_s_environment_runs_beside_ipex_and_in_no_cell(own_root, monkeypatch):
    if (reason := stacks.why_no_ipex()) is not None:
        pytest.skip(reason)
    monkeypatch.setenv(stacks.VARIABLE, stacks.IPEX)
    ipex = SMALL.but(engine="ipex")
    CellRun(KEY, ipex, reference=SMALL).refuse_where_it_cannot_run()
    with pytest.raises(NotImplementedError, match="its baseline cannot run here: IPEX's env"):
        CellRun(KEY, ipex, reference=SMALL.but(engine="numpy")).refuse_where_it_cannot_run()
    with pytest.raises(NotImplementedError, match="runs engine = 'ipex' only"):
        CellRun(KEY, SMALL).refuse_where_it_cannot_run()
    monkeypatch.setenv(stacks.VARIABLE, stacks.MAIN)
    with pytest.raises(NotImplementedError, match="its baseline cannot run here: IPEX has an env"):
        CellRun(KEY, SMALL, reference=ipex).refuse_where_it_cannot_run()


def test_a_loss_that_is_no_number_is_a_failed_cell_with_the_reason(leased, monkeypatch):
    events = leased / "events.jsonl"
    monkeypatch.setenv("CPUTRAIN_EVENTS", str(events))
    cell = CellRun(KEY, SMALL.but(optimizer="sgd", learning_rate=10.0))
    with pytest.raises(CellFailed, match=r"DidNotTrain: .*(nan|inf|finite)"):
        for _ in range(2):
            cell.sample()
            cell.settle()
    assert record_of(cell).status == "failed" and "DidNotTrain" in record_of(cell).reason
    (line,) = events.read_text().splitlines()
    assert json.loads(line)["status"] == "failed" and json.loads(line)["cell"] == "x"


@pytest.mark.parametrize(("value", "is_kept"), [("x", False), ("base", True)])
def test_once_models_have_their_room_only_a_baseline_s_is_kept(leased, monkeypatch, value, is_kept):
    """Others start from it, and its suite shows what a trained model is."""
    monkeypatch.setattr(recording, "MODELS_BYTES", 0)
    cell = CellRun(CellKey("Trial", (value,), baseline="base"), SMALL.but(samples=1))
    cell.sample()
    cell.settle()
    assert (cell.folder / "model.safetensors").exists() == is_kept
    record = record_of(cell)
    assert record.ok and (record.model_file is not None) == is_kept
    assert record.note == (None if is_kept else recording.NO_ROOM)


def test_what_a_worker_that_was_killed_as_it_saved_has_left_is_removed(leased):
    cell = CellRun(KEY, SMALL.but(samples=1))
    cell.folder.mkdir(parents=True)
    (cell.folder / ".model.safetensors.abcd.tmp").write_bytes(b"half of it")
    cell.sample()
    cell.settle()
    assert {path.name for path in cell.folder.iterdir()} == {"run.json", "model.safetensors"}


def test_the_budget_is_no_part_of_an_experiment_s_identity():
    budget = dataclasses.fields(Experiment().budget)
    longer = Experiment().but(**{f.name: 7 for f in budget if f.name != "micro_batches"})
    assert longer.identity == Experiment().identity
    assert Experiment().but(seq_len=128).identity != Experiment().identity


def test_a_suite_says_of_its_cells_what_tables_need():
    for planned in ALL:
        keys = [planned.suite.key(*cell.values) for cell in planned.cells]
        assert [key.index for key in keys] == list(range(len(keys)))
        assert {key.name for key in keys} == {paths.cell_name(c.values) for c in planned.cells}
        for key, cell in zip(keys, planned.cells, strict=True):
            assert key.baseline == cell.baseline
            same = [c for c in planned.cells if c.name == cell.baseline]
            assert not same or same[0].engine == cell.engine or not planned.suite.engines
        assert {key.description for key in keys} == {planned.description}
        assert keys[0].area and keys[0].param_names == tuple(planned.suite.param_names)
