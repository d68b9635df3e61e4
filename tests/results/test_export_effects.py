"""Effects, intervals and verdicts of a made-up sweep."""

import json

import pytest
from made_project import rows_of, worker

from cputrain.experiment import Experiment
from cputrain.report.export import export

pytestmark = pytest.mark.tools

USUAL = Experiment()


def test_effects_are_against_the_suites_own_baseline(sweep):
    found = rows_of(export(sweep.root), "SeqLen")
    base = found["256"]
    assert (base["effect"], base["effect_low"], base["effect_high"]) == (1.0, 1.0, 1.0)
    assert base["above_noise"] is False
    assert found["512"]["effect"] == found["512"]["step_s"] / base["step_s"]
    assert found["512"]["effect_low"] < 81 / 42 < found["512"]["effect_high"]
    assert found["512"]["above_noise"] is True
    died = found["2048"]
    assert (died["status"], died["reason"]) == ("out of memory", "killed by the kernel")
    assert died["effect"] is None
    assert rows_of(export(sweep.root), "CoreCount")["all"]["effect_low"] == 1.0


def test_identical_cells_do_not_stand_above_the_noise(sweep):
    summary = export(sweep.root)
    assert not any(row["above_noise"] for row in rows_of(summary, "Baseline").values())
    assert rows_of(summary, "CoreCount")["2"]["above_noise"] is False


def test_a_suite_of_another_baseline_is_told_so(sweep):
    other = {"SeqLen": (USUAL.but(seq_len=512).identity,)}
    found = rows_of(export(sweep.root, baselines=other), "SeqLen")
    assert found["512"]["effect"] == 1.0
    assert found["256"]["effect"] == pytest.approx(42 / 81, rel=0.1)


def test_a_suite_without_its_baseline_says_so_and_has_no_effect(project):
    project.suite("SeqLen", "seq_len", (128, 512))
    project.cell("SeqLen", 128, 0.02, USUAL.but(seq_len=128))
    project.save()
    row = rows_of(export(project.root), "SeqLen")["128"]
    assert row["effect"] is None
    assert row["reason"].endswith("no baseline cell to compare with")
    assert row["above_noise"] is None


def test_an_effect_across_sessions_says_so(project):
    project.suite("SeqLen", "seq_len", (128, 256))
    project.cell("SeqLen", 128, 0.02, USUAL.but(seq_len=128), session="later")
    project.cell("SeqLen", 256, 0.04)
    project.save()
    row = rows_of(export(project.root), "SeqLen")["128"]
    assert row["effect"] == pytest.approx(0.5, rel=0.1)
    assert row["reason"].endswith("not of the baseline's session")


def test_a_single_worker_has_a_number_and_no_interval(project):
    project.suite("SeqLen", "seq_len", (256,))
    project.cell("SeqLen", 256, 0.04, workers=1)
    project.save()
    row = rows_of(export(project.root), "SeqLen")["256"]
    assert row["step_s"] and row["step_s_low"] is None
    assert "too few workers" in row["reason"]


def test_quick_cells_of_one_experiment_tell_each_others_spread(project):
    project.suite("SeqLen", "seq_len", (128, 256))
    for number in range(4):
        project.suite(f"Other{number}", "x", (1,))
        project.cell(f"Other{number}", 1, 0.04, mode="quick", workers=1)
    project.cell("SeqLen", 128, 0.02, USUAL.but(seq_len=128), mode="quick", workers=1)
    project.cell("SeqLen", 256, 0.04, mode="quick", workers=1)
    project.save()
    row = rows_of(export(project.root), "SeqLen")["128"]
    assert row["mode"] == "quick"
    assert 0.3 < row["effect_low"] < 0.5 < row["effect_high"] < 0.8


@pytest.mark.parametrize(("held_up", "judged"), [(0, True), (2, True), (3, False), (6, False)])
def test_a_cell_half_of_whose_samples_were_disturbed_is_not_judged(sweep, held_up, judged):
    path = sweep.root / "output" / "here" / "SeqLen" / "512" / "run.json"
    record = json.loads(path.read_text())
    samples = [sample for worker in record["workers"] for sample in worker["samples"]]
    assert len(samples) == 6
    for sample in samples[:held_up]:
        sample["disturbed"] = True
    path.write_text(json.dumps(record))
    rows = {(row["suite"], row["value"]): row for row in export(sweep.root).rows}
    row = rows["SeqLen", "512"]
    assert row["effect"] > 1.8
    assert row["above_noise"] is (True if judged else None)


def test_without_the_noise_floor_nothing_is_said_of_it(project):
    project.suite("SeqLen", "seq_len", (128, 256))
    project.cell("SeqLen", 128, 0.02, USUAL.but(seq_len=128))
    project.cell("SeqLen", 256, 0.04)
    project.save()
    assert {row["above_noise"] for row in export(project.root).rows} == {None}
    assert "| not known |" in project.page()


@pytest.mark.parametrize(
    ("field", "threads", "apart"),
    [("threads", 8, True), ("intra_op_threads", 8, True), ("inter_op_threads", 8, False)],
)
def test_more_threads_than_cpus_do_not_widen_what_others_are_given(sweep, field, threads, apart):
    alone = rows_of(export(sweep.root), "SeqLen")["512"]
    sweep.suite("Threads", field, (threads,))
    steps = [[[seconds] * 10] for seconds in (0.1, 0.4, 1.6)]  # they take turns, or do not
    workers = [worker(USUAL.but(**{field: threads}), one) for one in steps]
    sweep.record("Threads", threads, workers)
    sweep.result("Threads", threads, [0.1, 0.4, 1.6])
    sweep.save(commit="d" * 40, date=2_000)
    beside = rows_of(export(sweep.root), "SeqLen")["512"]
    widened = beside["step_s_high"] / alone["step_s_high"] - 1
    assert (widened < 0.01) is apart
