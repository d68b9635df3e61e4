"""From a whole made-up sweep to its tables, plots and page."""

import json
import math
import re

import polars as pl
import pytest
from made_project import failure

from cputrain.experiment import Experiment
from cputrain.report.export import export

USUAL = Experiment()


def rows_of(summary, suite, machine="here"):
    mine = [r for r in summary.rows if (r["suite"], r["machine"]) == (suite, machine)]
    return {row["value"]: row for row in mine}


def page(project):
    return (project.root / "result" / "README.md").read_text()


def test_every_cell_of_every_suite_is_in_every_table(sweep):
    summary = export(sweep.root)
    expected = {
        (name, str(value).strip("'"))
        for name, benchmark in sweep.benchmarks.items()
        for value in benchmark["params"][0]
    }
    result = sweep.root / "result"
    for table in (pl.read_csv(result / "results.csv"), pl.read_parquet(result / "results.parquet")):
        assert set(zip(table["suite"], table["value"], strict=True)) == expected
    assert pl.read_csv(result / "here" / "SeqLen.csv").height == 5
    assert summary.problems == []
    assert all(path.stat().st_size for path in summary.files)
    assert (result / "here" / "plots" / "SeqLen.svg") in summary.files


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
    other = {"SeqLen": USUAL.but(seq_len=512).identity}
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


def test_the_page_opens_with_what_the_numbers_say(sweep):
    facts = {"cores": "2", "memory": "23.5 GiB"}
    sweep.suite("Extra", "x", (1,))
    sweep.result("Extra", 1, math.nan)
    sweep.save(machine=facts, commit="d" * 40, date=2)
    export(sweep.root, {"SeqLen": "Tokens in one training sequence."})
    text = page(sweep)
    opening = text[: text.index("### ")]
    assert "AMD EPYC, 2 cores, 23.5 GiB of memory, x86_64, Linux 6.18; torch 2.13.0+cpu" in opening
    ranked = re.findall(r"^\| (\d) \| \[(\w+)\]", opening, re.MULTILINE)
    assert ranked == [("1", "SeqLen"), ("2", "CoreCount"), ("3", "AttentionBackend")]
    assert re.search(r"1 000 steps take 4\d s here, 10 000 steps take [67]\.\d min", opening)
    assert re.search(r"\*\*Noise floor\*\*: \d\.\d %", opening)
    assert "Not run here: Depth, Extra." in opening
    assert "### SeqLen\n\nTokens in one training sequence.\n\n| seq_len |" in text
    assert text.index("### SeqLen") < text.index("### CoreCount") < text.index("### Baseline")


def test_the_page_shows_failures_and_skips_with_their_reasons(sweep):
    export(sweep.root)
    text = page(sweep)
    assert re.search(r"^\| 2048 \|.*\| out of memory: killed by the kernel \|$", text, re.MULTILINE)
    assert re.search(
        r"^\| 4, 8 \|.*\| skipped: n CPUs asked, only 2 allowed \|$", text, re.MULTILINE
    )


def test_every_picture_and_link_of_the_page_is_there(sweep):
    export(sweep.root)
    text = page(sweep)
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)
    assert len(pictures) == 4
    assert all((sweep.root / "result" / picture).is_file() for picture in pictures)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= anchors


def test_several_machines_stand_side_by_side(sweep):
    for name, step_s in (("big.one_x", 0.01), ("small", 0.1)):
        sweep.cell("SeqLen", 256, step_s, machine=name)
        sweep.cell("SeqLen", 512, 2 * step_s, USUAL.but(seq_len=512), machine=name)
    sweep.save()
    summary = export(sweep.root)
    assert {row["machine"] for row in summary.rows} == {"here", "big.one_x", "small"}
    text = page(sweep)
    table = text[text.index("side by side") : text.index("## big.one_x")]
    assert re.findall(r"^\| \[([\w.]+)\]", table, re.MULTILINE) == ["big.one_x", "here", "small"]
    assert "1.000x" in table and re.search(r"\| (9\.\d\d|10\.\d)x \|", table)
    test_every_picture = set(re.findall(r"\]\(#([^)]*)\)", text))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings}
    assert test_every_picture <= anchors


def test_broken_files_are_named_once_and_cost_only_their_cell(sweep):
    output = sweep.root / "output" / "here"
    (output / "SeqLen" / "512" / "run.json").write_text('{"schema": 1, "sui')
    (sweep.root / "result" / "asv" / "here" / "deadbeef-x.json").write_text("{")
    peaks = sweep.root / "result" / "here" / "machine.json"
    peaks.parent.mkdir()
    peaks.write_text("[1]")
    summary = export(sweep.root)
    named = sorted(str(problem.path) for problem in summary.problems)
    assert named == [
        "output/here/SeqLen/512/run.json",
        "result/asv/here/deadbeef-x.json",
        "result/here/machine.json",
    ]
    assert all("\n" not in str(problem) for problem in summary.problems)
    found = rows_of(summary, "SeqLen")
    assert "not usable" in found["512"]["reason"]
    assert found["512"]["effect"] is None
    assert found["1024"]["effect"] > 4
    assert all(str(problem.path) in page(sweep) for problem in summary.problems)


def test_the_measured_peak_gives_mfu(sweep):
    path = sweep.root / "result" / "here" / "machine.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"date": "2026", "fp32_matmul_flops": {"1": 3e11, "2": 5e11}}))
    found = rows_of(export(sweep.root), "SeqLen")
    assert found["256"]["mfu"] == pytest.approx(1e10 / found["256"]["step_s"] / 5e11)
    assert re.search(r"\| 2\d\d \(4\d %\) \|", page(sweep))


def test_a_peak_that_a_cell_outran_gives_no_mfu_and_is_told(sweep):
    path = sweep.root / "result" / "here" / "machine.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"fp32_matmul_flops": {"1": 9e11, "2": 2e11}}))
    summary = export(sweep.root)
    assert rows_of(summary, "SeqLen")["256"]["mfu"] is None
    (problem,) = summary.problems
    assert "the measured peak is 200" in str(problem)


def test_a_peak_of_another_type_is_not_blamed(sweep):
    path = sweep.root / "result" / "here" / "machine.json"
    path.parent.mkdir()
    peaks = {"fp32_matmul_flops": {"2": 5e11}, "bf16_matmul_flops": {"2": 1e11}}
    path.write_text(json.dumps(peaks))
    counts = {"tokens_per_step": 256, "flops_per_step": 10**10, "flops_by_type": {"bf16": 10**10}}
    sweep.cell("AttentionBackend", "manual", 0.05, counts=counts)
    sweep.save(commit="d" * 40, date=2_000)
    summary = export(sweep.root)
    (problem,) = summary.problems
    assert "no mfu for bf16 with 2 threads" in str(problem)
    assert "the measured peak is 100" in str(problem)
    assert rows_of(summary, "AttentionBackend")["manual"]["mfu"] is None
    assert rows_of(summary, "SeqLen")["256"]["mfu"] > 0


def test_the_page_tells_what_is_simulated_or_composed(sweep):
    sweep.cell("Depth", 2, 0.02, USUAL.but(n_layer=2), simulated="4-bit weights in fp32")
    sweep.cell("Depth", 4, 0.04, composed="sum of 2 micro-batches x 8 and the update")
    sweep.save(commit="d" * 40, date=2_000)
    export(sweep.root)
    text = page(sweep)
    assert re.search(r"^\| 2 \|.*[|;] 4-bit weights in fp32;", text, re.MULTILINE)
    assert re.search(r"^\| 4 \|.*[|;] sum of 2 micro-batches x 8 and", text, re.MULTILINE)


def test_disturbed_cells_do_not_set_the_baseline_time(project):
    project.suite("Suite", "x", (1,))
    project.suite("Other", "x", (1,))
    made = project.cell("Suite", 1, 0.4)
    made[0]["samples"][0]["disturbed"] = True
    project.record("Suite", 1, made)
    project.cell("Other", 1, 0.042)
    project.save()
    export(project.root)
    assert re.search(r"\*\*Baseline\*\*: 4\d\.\d ms per step", page(project))


def test_a_ranking_that_rests_on_disturbed_samples_says_so(sweep):
    made = sweep.cell("AttentionBackend", "manual", 0.5, USUAL.but(attention_backend="manual"))
    made[1]["samples"][0]["disturbed"] = True
    sweep.record("AttentionBackend", "manual", made)
    sweep.result("AttentionBackend", "sdpa", math.nan)
    sweep.save(commit="d" * 40, date=2_000)
    export(sweep.root)
    assert re.search(r"^\| 1 \| \[AttentionBackend\].*\| disturbed \|$", page(sweep), re.MULTILINE)


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
    assert "| not known |" in page(project)


def test_nothing_measured_yet(tmp_path):
    summary = export(tmp_path)
    assert (summary.rows, summary.problems) == ([], [])
    assert "Nothing was measured yet" in (tmp_path / "result" / "README.md").read_text()


def test_everything_failed(project):
    project.suite("SeqLen", "seq_len", (128, 256))
    for value in (128, 256):
        project.record("SeqLen", value, [failure(USUAL, "failed", "ImportError: no torch")])
        project.result("SeqLen", value, None)
    project.save()
    summary = export(project.root)
    assert [row["status"] for row in summary.rows] == ["failed", "failed"]
    assert "failed: ImportError: no torch" in page(project)
    assert "no cell of it has a number" in page(project)


def test_the_same_results_give_the_same_files(sweep):
    files = export(sweep.root).files
    first = {path: path.read_bytes() for path in files}
    assert {path: path.read_bytes() for path in export(sweep.root).files} == first


def test_every_cell_of_many_suites_is_there(project):
    for number in range(12):
        project.suite(f"Suite{number}", "x", (1, 2, 3, 4, 5))
        for value in range(1, 6):
            project.cell(f"Suite{number}", value, 0.01 * value)
    project.save()
    assert len(export(project.root).rows) == 60
