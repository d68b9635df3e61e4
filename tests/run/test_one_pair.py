"""One pass of a pair that decides a claim, in real workers."""

import pytest

pytest.importorskip("torch")

from settled import settled

from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.record.process import Turn
from cputrain.results import records
from cputrain.run import one_pair
from cputrain.run.names import CLAIMS
from cputrain.run.references import FILE as REFERENCES

SMALL = settled(n_layer=1, n_embd=32, seq_len=16, steps=3, samples=3, warm_up_steps=2)
TURN = Turn(round=1, place=1, seed=0)


def request(experiment):
    return one_pair.PairRequest(
        values=("small", "other"),
        experiment=experiment.to_json(),
        reference=SMALL.to_json(),
        turn=TURN,
    )


def test_a_pass_leaves_a_record_beside_a_proven_reference(leased):
    one_pair.run(request(SMALL.but(n_layer=2)))
    (folder,) = (leased / "output").glob(f"*/{CLAIMS}")
    record = records.read_file(folder / "small-other" / "run.json")
    (worker,) = record.workers
    assert worker.ok and worker.turn == TURN and len(worker.pairs) == 3
    assert record.key.baseline == "small-again" and not record.key.is_baseline
    assert worker.reference_counts.n_params < worker.work.n_params
    references = files.read(folder / "small-again" / REFERENCES, CellRecord, SCHEMA)
    assert [reference.id for reference in references.workers] == [worker.reference]
    assert references.workers[0].trained.parameters_moved
    assert not (folder / "small-again" / "run.json").exists()

    # No suite sees it.
    machine = folder.parent.name
    assert records.read(leased, machine, "full") == ([], [])
    ((record,), unusable) = records.read(leased, machine, "full", only=CLAIMS)
    assert record.key.values == ("small", "other") and unusable == []


def test_what_does_not_train_is_a_failure_with_its_reason(leased):
    one_pair.run(request(SMALL.but(learning_rate=0.0)))
    (path,) = (leased / "output").glob(f"*/{CLAIMS}/*/run.json")
    (worker,) = records.read_file(path).workers
    assert worker.status == "failed" and "DidNotTrain" in worker.reason
