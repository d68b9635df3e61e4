"""Pairs that others spoil are taken again, by a rule that never sees how long steps take."""

import itertools
from pathlib import Path

import pytest
from settled import FEW_STEPS, settled

from cputrain.analysis.counted import counted
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.answers import Peak, Sampled, SoFar
from cputrain.record.cell import SCHEMA, CellKey, CellRecord
from cputrain.record.noise import Noise
from cputrain.record.sample import Sample
from cputrain.record.worker import WorkerRecord
from cputrain.run import pairs, recording
from cputrain.run.cell import CellRun
from cputrain.run.session import Session

SMALL = {"engine": "native", "n_layer": 1, "n_embd": 32, "n_head": 2, "seq_len": 32, "threads": 1}


class Blocks:
    """Blocks whose sides lose these shares of their time to others, pair by pair.

    Args:
        lost: (cell's, reference's) of each pair; of all further ones nothing.
        step_s: seconds of the one step of a block.
        moved: in how many pairs, from the first one, a hypervisor moves a CPU.
    """

    def __init__(self, lost, step_s=0.1, moved=0):
        self.lost, self.step_s, self.moved, self.sides = lost, step_s, moved, []

    def __call__(self, side):
        self.sides.append(side)
        number = min((len(self.sides) - 1) // 2, len(self.lost))
        cell, reference = [*self.lost, (0.0, 0.0)][number]
        after_ns = 400.0 if (len(self.sides) - 1) // 2 < self.moved else 100.0
        noise = Noise(
            lost_share=cell if side == "cell" else reference,
            steal_share=0.0,
            round_trip_before_ns=100.0,
            round_trip_after_ns=after_ns,
            round_trip_cpus=[0, 1],
        )
        so_far = SoFar(first_loss=1.0, steps_done=1, training_s=1.0, optimizer_state_bytes=0)
        sample = Sample(step_s=[self.step_s], loss=[1.0], noise=noise)
        return Sampled(sample=sample, peak=Peak(), so_far=so_far)


def taken(lost, wanted=4, step_s=0.1, moved=0):
    """The record of a worker with all of its pairs, and the order in which sides ran."""
    session = Session(id="s", run="r", machine="here", offline=True)
    block = Blocks(lost, step_s, moved)
    record: WorkerRecord = recording.opened(session, settled())
    for _ in range(wanted):
        taken_pair = pairs.take(record, wanted, block)
        record = record.with_sample(taken_pair.own)
        record = record.but(pairs=[*record.pairs, taken_pair.pair], spoilt_pairs=taken_pair.spoilt)
    return record, block.sides


def test_a_spoilt_pair_is_taken_again_and_kept_apart():
    record, sides = taken([(0, 0), (0.2, 0), (0, 0.2)])
    assert [pair.sample for pair in record.pairs] == [0, 1, 2, 3] and len(record.samples) == 4
    assert [p.disturbed_sides for p in record.spoilt_pairs] == [(True, False), (False, True)]
    assert not any(any(record.disturbed_sides(pair)) for pair in record.pairs)
    assert sides[1:-1:2] == sides[2::2]  # whoever ran last runs on, also in a pair taken again
    seen = counted([record])
    assert (seen.pairs, seen.dropped) == (6, 2) and seen.cell_share == seen.reference_share == 1 / 6


def test_where_others_are_there_all_the_time_it_is_given_up():
    record, sides = taken([(0.2, 0)] * 99)
    assert (len(record.pairs), len(record.spoilt_pairs), len(sides)) == (4, 2, 12)
    assert counted([record]).dropped == 6 and counted([record]).passes == ()


@pytest.mark.parametrize(
    ("moved", "again", "counting"),
    [
        (3, 2, 3),  # half as many again, as two others can count
        (4, 2, 2),
        (5, 3, 2),  # as many as it takes until two can
        (6, 4, 2),
        (99, 4, 0),
    ],
)
def test_pairs_with_a_moved_cpu_are_taken_again_until_two_can_count(moved, again, counting):
    record, _ = taken([], moved=moved)
    assert len(record.pairs) == 4 and len(record.spoilt_pairs) == again
    assert sum(not any(record.disturbed_sides(pair)) for pair in record.pairs) == counting


def test_what_both_lose_spoils_no_pair():
    record, _ = taken([(0.2, 0.2)] * 99)
    assert record.spoilt_pairs == [] and counted([record]).dropped == 0


@pytest.mark.parametrize(("step_s", "again"), [(0.5, 1), (0.6, 0)])
def test_a_long_pair_is_not_taken_again(step_s, again):
    record, _ = taken([(0.2, 0)], step_s=step_s)
    assert len(record.spoilt_pairs) == again


def test_asv_has_as_many_samples_as_it_asked_for(leased, monkeypatch):
    pytest.importorskip("safetensors")
    spoilt = itertools.chain([True], itertools.repeat(False))
    monkeypatch.setattr(Sample, "is_spoilt_beside", lambda own, other: next(spoilt))
    base = Experiment().but(**{**SMALL, **FEW_STEPS, "samples": 3})
    cell = CellRun(CellKey("Trial", ("x",), baseline="b"), base.but(seq_len=64), reference=base)
    clock = [0.0]
    for _ in range(cell.begin(fewer=False)):
        cell.sample()
        cell.settle()
        clock.append(cell.clock_s)
    (worker,) = files.read(Path(cell.folder) / recording.FILE, CellRecord, SCHEMA).workers
    assert worker.status == "ok" and len(worker.samples) == len(worker.pairs) == 3
    (again,) = worker.spoilt_pairs
    assert again.own.step_s not in [sample.step_s for sample in worker.samples]
    grown = [after - before for before, after in itertools.pairwise(clock)]
    assert grown == pytest.approx([sample.median_s for sample in worker.samples])
