"""Cells beside a reference: what their records hold, and whose the reference is."""

import time
from pathlib import Path

import pytest
from made_cells import LONG, NATIVE, is_stopped
from made_families import wait_until

from cputrain.experiment import Experiment
from cputrain.machine import processes
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.worker import blocks

pytest.importorskip("threadpoolctl")
pytest.importorskip("safetensors")


def record(root, cell, name="run.json"):
    """The workers of a record, read strictly."""
    path = root / "output/here/Trial" / cell / name
    return files.read(path, CellRecord, SCHEMA).workers


def pairs(cell):
    """What a cell says of each of its pairs, to its end."""
    lines = [line.split() for line in cell.rest()]
    assert lines and {words[0] for words in lines} == {"pair"}, lines
    return lines


def test_a_cell_s_record_has_its_pairs_and_the_reference_s_stands_beside_it(run, root):
    pairs(run.cell("one", samples=4))
    (own,) = record(root, "one")
    assert own.ok and len(own.samples) == len(own.pairs) == 4 and own.forked is False
    assert [pair.sample for pair in own.pairs] == [0, 1, 2, 3]
    firsts = [pair.first for pair in (*own.pairs, *own.spoilt_pairs)]
    assert abs(firsts.count("cell") - firsts.count("reference")) <= 1  # in turns, as in test_pairs
    if not own.spoilt_pairs:
        assert firsts in (["cell", "reference"] * 2, ["reference", "cell"] * 2)
    (reference,) = record(root, "base", "references.json")
    steps, beside = (blocks.steps(Experiment(), w.warm_step_s) for w in (own, reference))
    for sample, pair in zip(own.samples, own.pairs, strict=True):
        assert (len(sample.step_s), len(pair.reference.step_s)) == (steps, beside)
        assert sample.tries == pair.reference.tries == 1  # the next second is another one
        assert sample.noise.expected_s == pytest.approx(steps * own.warm_step_s)
        assert pair.reference.noise.expected_s == pytest.approx(beside * reference.warm_step_s)
    assert reference.id == own.reference and reference.trained.parameters_moved > 0
    assert reference.last_loss < reference.first_loss
    assert own.experiment["training"]["seq_len"] == 2 * NATIVE["seq_len"]
    assert reference.experiment["training"]["seq_len"] == NATIVE["seq_len"]


def test_the_next_cell_of_the_suite_has_the_same_reference_and_the_run_s_end_ends_it(run, root):
    first = pairs(run.cell("one"))
    (reference,) = run.look()
    assert is_stopped(reference)
    second = pairs(run.cell("two"))
    assert run.look() == [reference]
    assert {words[2] for words in first} == {words[2] for words in second}
    assert len(record(root, "base", "references.json")) == 1
    run.starter.say()
    assert run.starter.line() == ["closed"]
    assert not processes.lives(reference)
    run.none_is_left()
    assert not (root / "output/here/Trial/base/run.json").exists()


def test_between_cells_the_reference_is_stopped_and_uses_no_cpu(run):
    pairs(run.cell("one"))
    (reference,) = run.look()
    before = cpu_ticks(reference)
    time.sleep(0.3)
    assert is_stopped(reference) and cpu_ticks(reference) == before


def cpu_ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_a_cell_called_by_hand_has_a_conductor_of_its_own(root, run):
    """As `asv run` without bench.py; one after the other, as its processes are."""
    for name in ("one", "two"):
        pairs(run.cell(name, alone=True))
    references = record(root, "base", "references.json")
    assert {worker.id for worker in references} >= {record(root, "two")[0].reference}
    run.starter.say()
    run.none_is_left()


def test_a_second_sweep_is_told_who_runs(root, run):
    first = run.cell("one", samples=100 * LONG, alone=True)  # until it is ended
    assert first.line()[0] == "pair"
    (line,) = run.cell("two", alone=True).rest()
    assert line.startswith("failed bench.py is running on this machine already (process ")
    first.end()
    run.none_is_left(but=run.conductor)


def test_a_failing_cell_is_a_line_and_the_reference_goes_on(run, root):
    pairs(run.cell("one"))
    reference = run.look()
    run.changes["learning_rate"] = 0.0  # another baseline, which does not train
    (line,) = run.cell("two").rest()
    assert line.startswith("failed the reference beside it: DidNotTrain: ")
    (own,) = record(root, "two")
    assert own.status == "failed" and own.reason == line.removeprefix("failed ")
    assert run.look() == reference and is_stopped(*reference)


def test_no_descriptor_and_no_zombie_is_left_by_cells(run):
    """The conductor of a long run serves hundreds."""

    def zombies():
        children = processes.scanned()(run.conductor)
        return [pid for pid in children if not processes.lives(pid)]

    counts = []
    for number in range(4):  # the first one starts the reference, which stays
        pairs(run.cell(f"cell{number}", samples=2))
        wait_until(lambda: not zombies(), "a zombie is left")
        counts.append(run.descriptors())
    # The conductor may not have closed the last cell's line yet.
    wait_until(lambda: run.descriptors() <= min(counts[1:]), "a descriptor is left")
