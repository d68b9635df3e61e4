"""Shares of the measured peak, and peaks that cannot be."""

import json
import re

import pytest
from made_project import rows_of

from cputrain.report.export import export

pytestmark = pytest.mark.tools


def test_the_measured_peak_gives_mfu(sweep):
    path = sweep.root / "result" / "here" / "machine.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"date": "2026", "fp32_matmul_flops": {"1": 3e11, "2": 5e11}}))
    rows = rows_of(export(sweep.root), "SeqLen")
    assert rows["256"]["hfu"] == pytest.approx(1e10 / rows["256"]["step_s"] / 5e11)
    assert re.search(r"\| 2\d\d \(4\d %\) \|", sweep.page_of("SeqLen"))


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
    counts = {"flops_by_type": {"bf16": 10**10}}
    sweep.cell("AttentionBackend", "manual", 0.01, counts=counts)
    sweep.save(commit="d" * 40, date=2_000)
    summary = export(sweep.root)
    (problem,) = summary.problems
    assert "no mfu for bf16 with 2 threads" in str(problem)
    assert "the measured peak is 500" in str(problem)
    assert rows_of(summary, "AttentionBackend")["manual"]["mfu"] is None
    assert rows_of(summary, "SeqLen")["256"]["mfu"] > 0


@pytest.mark.parametrize(("bf16", "peak"), [(1e11, 5e11), (9e11, 9e11)])
def test_bf16_can_be_multiplied_as_fp32(sweep, bf16, peak):
    path = sweep.root / "result" / "here" / "machine.json"
    path.parent.mkdir()
    path.write_text(
        json.dumps({"fp32_matmul_flops": {"2": 5e11}, "bf16_matmul_flops": {"2": bf16}})
    )
    sweep.cell("AttentionBackend", "manual", 0.05, counts={"flops_by_type": {"bf16": 10**10}})
    sweep.save(commit="d" * 40, date=2_000)
    summary = export(sweep.root)
    assert summary.problems == []
    row = rows_of(summary, "AttentionBackend")["manual"]
    assert row["mfu"] == pytest.approx(1e10 / row["step_s"] / peak)
