"""Cells that have one measurement together."""

import pytest
from made_project import beside, rows_of, steps, worker
from settled import settled

from cputrain.analysis import identical
from cputrain.analysis.effects import analyse
from cputrain.report.export import export
from cputrain.results import rows, shared

pytestmark = pytest.mark.tools

USUAL = settled()


@pytest.fixture
def copied(project):
    """SeqLen 256 was measured in two passes; Depth 4 has a copy of the first, and Heads 4 too."""
    made = {}
    for suite, field, values in (
        ("SeqLen", "seq_len", (256,)), ("Depth", "n_layer", (4,)), ("Heads", "n_head", (4,)),
    ):  # fmt: skip
        project.suite(suite, field, values)
    made["SeqLen"] = project.cell("SeqLen", 256, 0.042)
    first = made["SeqLen"][0].but(id="1", run="r", repeats="SeqLen/256")
    project.record("Depth", 4, [first])
    project.record("Heads", 4, [first.but(id="2")])
    project.save()
    return project, made["SeqLen"]


def test_a_cell_that_repeats_another_says_the_same_number_and_whose_it_is(copied):
    project, _ = copied
    summary = export(project.root)
    own = rows_of(summary, "SeqLen")["256"]
    for suite in ("Depth", "Heads"):
        row = rows_of(summary, suite)["4"]
        assert row["same_as"] == "SeqLen/256" and own["same_as"] is None
        for name in (
            "step_s",
            "effect",
            "effect_low",
            "passes",
            "pairs",
            "workers",
            "peak_rss_bytes",
        ):
            assert row[name] == own[name], name
        assert own["passes"] == 2
    assert "same as SeqLen/256" in project.page_of("Depth")


def test_repeated_cells_are_one_measurement_of_the_noise(copied):
    project, made = copied
    cells, _ = rows.read(project.root, "here")
    assert len(cells) == 3 and all(cell.is_baseline for cell in cells)
    assert len(identical.distinct(cells)) == len(made) == 2
    (learned,) = analyse(cells, {}).noises.learned.values()
    assert (learned.noise.identical, learned.pairs.pairs) == (2, 6)


def test_without_the_cell_that_it_repeats_its_own_copy_counts(copied):
    project, made = copied
    (project.root / "output" / "here" / "SeqLen" / "256" / "run.json").unlink()
    cells, _ = rows.read(project.root, "here")
    assert [(cell.ok, cell.same_as, len(cell.workers)) for cell in cells] == [(True, None, 1)] * 2
    assert cells[0].workers[0].samples == made[0].samples
    # Both are copies of one worker: one A/A pass.
    (learned,) = analyse(cells, {}).noises.learned.values()
    assert learned.noise.identical == 1


def test_a_later_pass_of_the_copy_belongs_to_both(copied):
    project, made = copied
    fresh = beside(worker(USUAL, steps(0.042, project.rng)), 0.042, project.rng)
    copy = made[0].but(id="1", repeats="SeqLen/256")
    project.record("Depth", 4, [copy, fresh.but(id="3", started="2026-11-21T11:09:00+00:00")])
    cells, _ = rows.read(project.root, "here")
    assert {len(cell.workers) for cell in cells} == {3}
    assert [cell.workers[-1].id for cell in cells] == ["3"] * 3
    assert {cell.same_as for cell in cells if cell.suite != "SeqLen"} == {"SeqLen/256"}


def test_another_session_s_workers_are_not_taken(copied):
    project, made = copied
    later = [worker.but(session="later") for worker in made]
    project.record("SeqLen", 256, [*made, *later])
    cells, _ = rows.read(project.root, "here")
    depth = next(cell for cell in cells if cell.suite == "Depth")
    assert (depth.same_as, len(depth.workers)) == (None, 1)


def test_workers_of_another_experiment_are_not_shared(copied):
    """As of two values that had one name, of which the second was the last to be measured."""
    project, made = copied
    other = [worker.but(id=f"o{n}", identity="other") for n, worker in enumerate(made)]
    project.record("SeqLen", 256, [made[0], other[0], made[1], other[1]])
    cells = {cell.name: cell for cell in rows.read(project.root, "here")[0]}
    assert cells["SeqLen/256"].workers == tuple(w.but(machine="here") for w in other)
    for name in ("Depth/4", "Heads/4"):
        (worker,) = cells[name].workers
        assert worker.identity == made[0].identity and cells[name].same_as is None


def test_a_copy_does_not_share_what_its_cell_has_of_another_experiment(copied):
    """The other way around: the cell with two experiments is the one that has the copy."""
    project, made = copied
    copy = made[0].but(id="1", run="r", repeats="SeqLen/256")
    other = made[1].but(id="other", identity="other")
    project.record("Depth", 4, [copy, other])
    cells = {cell.name: cell for cell in rows.read(project.root, "here")[0]}
    assert [w.id for w in cells["SeqLen/256"].workers] == [w.id for w in made]
    assert [w.id for w in cells["Depth/4"].workers] == ["other"]
    assert cells["Heads/4"].same_as == "SeqLen/256" and cells["Depth/4"].same_as is None


def test_a_copy_of_itself_is_no_second_worker(copied):
    _, made = copied
    again = made[0].but(id="9", repeats="SeqLen/256")
    known = shared.by_cell({"SeqLen/256": [*made, again], "Alone/1": []})
    assert known["SeqLen/256"].workers == tuple(made)
    assert known["Alone/1"].owner == "Alone/1"
    assert shared.by_cell({"SeqLen/256": [again]})["SeqLen/256"].workers == (again,)
