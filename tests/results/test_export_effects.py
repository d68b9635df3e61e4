"""Effects, intervals and verdicts of a made-up sweep, from the blocks beside the cells'."""

import json
import re

import msgspec
import pytest
from made_project import beside, change_sample, failure, rows_of, steps, worker
from settled import settled

from cputrain.report.export import export

pytestmark = pytest.mark.tools

USUAL = settled()
PAIRED = ("effect", "effect_low", "effect_high", "verdict", "passes", "pairs")


def lengths_suite(project, **lengths):
    """SeqLen with a baseline and 512, whose seconds are given with its reference's."""
    project.suite("SeqLen", "seq_len", (256, 512))
    project.cell("SeqLen", 256, 0.042)
    return project.cell("SeqLen", 512, 0.081, USUAL.but(seq_len=512), **lengths)


def test_an_effect_comes_from_pairs_and_not_from_two_rows(project):
    """The machine was 30 % slower while this cell ran, and so was the reference beside it."""
    lengths_suite(project, reference=0.0546)
    project.save()
    rows = rows_of(export(project.root), "SeqLen")
    assert rows["512"]["effect"] == pytest.approx(81 / 54.6, rel=0.03)
    assert rows["512"]["step_s"] / rows["256"]["step_s"] == pytest.approx(81 / 42, rel=0.03)
    assert rows["512"]["effect_low"] < rows["512"]["effect"] < rows["512"]["effect_high"]
    assert rows["512"]["effect_high"] < 1.7
    assert (rows["512"]["verdict"], rows["512"]["passes"], rows["512"]["pairs"]) == ("slower", 2, 6)


def test_every_value_is_against_its_own_suite_s_reference(sweep):
    summary = export(sweep.root)
    rows = rows_of(summary, "SeqLen")
    assert rows["128"]["effect"] == pytest.approx(24 / 42, rel=0.03)
    assert [rows[value]["verdict"] for value in ("128", "256", "512")] == [
        "faster", "same", "slower",
    ]  # fmt: skip
    died = rows["2048"]
    assert (died["status"], died["reason"]) == ("out of memory", "killed by the kernel")
    assert died["effect"] is died["verdict"] is None
    same = [*rows_of(summary, "Baseline").values(), rows_of(summary, "CoreCount")["2"]]
    assert not {"faster", "slower"} & {row["verdict"] for row in same}


def test_a_pair_of_which_one_side_was_disturbed_does_not_count(project):
    made = lengths_suite(project)
    spoilt = made[0]
    change_sample(spoilt, 0, disturbed=True, step_s=[9.0] * 10)
    pair = beside(spoilt, 0.042, project.rng, disturbed=[1])
    project.record("SeqLen", 512, [pair, made[1]])
    project.save()
    row = rows_of(export(project.root), "SeqLen")["512"]
    assert (row["pairs"], row["dropped_pairs"], row["passes"]) == (4, 2, 2)
    assert row["dropped_cell_share"] == row["dropped_reference_share"] == pytest.approx(1 / 6)
    assert row["effect"] == pytest.approx(81 / 42, rel=0.03)
    assert "| 4 of 6 (2) |" in project.page_of("SeqLen")


def test_a_row_says_what_others_held_up_of_either_side(project):
    (made, *_) = lengths_suite(project)
    for number, sample in enumerate(made.samples):
        held_up_s = [0.1 * seconds for seconds in sample.step_s]
        change_sample(made, number, held_up_s=held_up_s)
        reference = msgspec.structs.replace(made.pairs[number].reference, held_up_s=[0.0] * 10)
        made.pairs[number] = msgspec.structs.replace(made.pairs[number], reference=reference)
    project.record("SeqLen", 512, [made])
    project.save()
    rows = rows_of(export(project.root), "SeqLen")
    assert rows["512"]["held_up_cell_share"] == pytest.approx(0.1)
    assert rows["512"]["held_up_reference_share"] == 0
    assert rows["512"]["effect"] == pytest.approx(0.9 * 81 / 42, rel=0.03)
    assert rows["256"]["held_up_cell_share"] is None


def test_a_slow_block_is_not_dropped_for_being_slow(project):
    made = lengths_suite(project)
    change_sample(made[0], 0, step_s=[9.0] * 10)
    project.record("SeqLen", 512, made)
    project.save()
    assert rows_of(export(project.root), "SeqLen")["512"]["dropped_pairs"] == 0


def test_a_pass_all_of_whose_pairs_are_dropped_is_none(project):
    made = lengths_suite(project)
    gone = beside(made[0], 0.042, project.rng, disturbed=range(3))
    project.record("SeqLen", 512, [gone, made[1]])
    project.save()
    row = rows_of(export(project.root), "SeqLen")["512"]
    assert (row["passes"], row["pairs"], row["workers"]) == (1, 3, 2)
    gone = [beside(worker, 0.042, project.rng, disturbed=range(3)) for worker in made]
    project.record("SeqLen", 512, gone)
    row = rows_of(export(project.root), "SeqLen")["512"]
    assert [row[name] for name in PAIRED] == [None] * len(PAIRED)
    assert row["reason"] == "no effect: others had the CPUs during each of its 6 pairs"
    assert row["dropped_reference_share"] == 1.0


def test_pairs_that_a_quota_spoilt_are_told_to_be_its(project):
    made = lengths_suite(project)
    gone = [beside(worker, 0.042, project.rng, range(3), throttled_s=0.02) for worker in made]
    project.record("SeqLen", 512, gone)
    project.save()
    row = rows_of(export(project.root), "SeqLen")["512"]
    assert row["reason"] == "no effect: a CPU quota held threads back during each of its 6 pairs"


def test_an_engine_without_identical_workers_has_no_interval_and_says_so(sweep):
    sweep.suite("Framework", "engine", ("torch", "numpy"))
    sweep.cell("Framework", "torch", 0.042)
    numpy = USUAL.but(engine="numpy", attention_backend="manual")
    sweep.cell("Framework", "numpy", 0.084, numpy)
    sweep.save(commit="d" * 40, date=2_000)
    row = rows_of(export(sweep.root), "Framework")["numpy"]
    assert row["effect"] == pytest.approx(2, rel=0.03)
    assert (row["effect_low"], row["effect_high"]) == (None, None)
    assert (row["verdict"], row["further_passes"]) == ("not told", None)
    assert row["reason"] == "no interval: no A/A pair of this engine"


def test_a_record_of_before_pairs_has_a_number_and_no_effect_and_says_so(sweep):
    path = sweep.root / "output" / "here" / "SeqLen" / "512" / "run.json"
    record = json.loads(path.read_text())
    record["schema"] = 2
    for each in record["workers"]:
        for field in ("pairs", "forked", "warm_step_s", "reference", "repeats"):
            del each[field]
    path.write_text(json.dumps(record))
    row = rows_of(export(sweep.root), "SeqLen")["512"]
    assert row["status"] == "ok" and row["step_s"] == pytest.approx(0.081, rel=0.03)
    assert [row[name] for name in PAIRED] == [None] * len(PAIRED)
    assert row["reason"].startswith("no effect: it was measured without a reference beside it")


def test_a_cell_that_has_no_reference_by_its_nature_says_why(project):
    project.suite("JitWarmup", "jit_state", ("steady", "cold"))
    project.cell("JitWarmup", "steady", 0.042)
    reasons = {"reference": "a first step is timed"}
    cold = USUAL.but(jit_state="cold", compile="inductor", steps=1)
    project.cell("JitWarmup", "cold", 30.0, cold, reference=None, reasons=reasons)
    project.save()
    row = rows_of(export(project.root), "JitWarmup")["cold"]
    assert (row["effect"], row["reason"]) == (None, "no effect: a first step is timed")
    assert re.search(r"^- JitWarmup cold, torch: (29|30)", project.page(), re.MULTILINE)


def test_what_one_pass_proved_stays_a_number_where_another_failed(sweep):
    good = beside(worker(USUAL, steps(0.08, sweep.rng)), 0.042, sweep.rng)
    sweep.record("SeqLen", 512, [good, failure(USUAL, "failed", "wte has not moved")])
    row = rows_of(export(sweep.root), "SeqLen")["512"]
    assert (row["status"], row["workers"], row["passes"]) == ("ok", 1, 1)
    assert row["effect"] == pytest.approx(80 / 42, rel=0.05)
    assert row["reason"] == "1 of 2 passes gave no number: failed: wte has not moved"


def test_cells_of_another_session_have_the_noise_of_their_own(sweep):
    """And of their own alone, where it has A/A passes: those of others stand in for none."""
    sweep.cell("SeqLen", 512, 0.081, USUAL.but(seq_len=512), session="20261122T110000-1")
    row = rows_of(export(sweep.root), "SeqLen")["512"]
    assert row["verdict"] == "slower"  # by the A/A passes of the session before


def test_verdicts_on_the_page_are_those_of_the_rows(sweep):
    rows = rows_of(export(sweep.root), "SeqLen")
    table = sweep.page_of("SeqLen")
    for value, row in rows.items():
        line = next(line for line in table.splitlines() if line.startswith(f"| {value} |"))
        if value == "256":
            assert "| baseline |  |" in line
        elif row["verdict"] in ("faster", "slower"):
            assert f"| **{row['verdict']}** | {row['pairs']} ({row['passes']}) |" in line
        else:
            assert row["status"] == "out of memory" and "**" not in line
