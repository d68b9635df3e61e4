"""Check that a quick run of the suites named left tables with true-looking rows."""

import sys
from pathlib import Path

import polars

rows = polars.read_parquet("result/results.parquet")
(machine,) = rows["machine"].unique()
for suite in sys.argv[1:]:
    table = rows.filter(polars.col("suite") == suite)
    csv = polars.read_csv(f"result/{machine}/{suite}.csv", infer_schema_length=None)
    assert csv["value"].cast(str).to_list() == table["value"].cast(str).to_list(), suite
    ok = table.filter(polars.col("status") == "ok")
    assert len(ok) >= 2, table.select("value", "status", "reason")
    assert len(ok) == len(table), table.select("value", "status", "reason")
    for row in ok.iter_rows(named=True):
        assert 0 < row["step_s"] < 60, row
        tokens = row["seq_len"] * row["batch_size"]
        assert abs(row["tokens_per_s"] * row["step_s"] / tokens - 1) < 1e-6, row
        assert row["last_loss"] < row["first_loss"] < 6, row
        assert Path(f"output/{machine}/quick/{suite}/{row['value']}/model.safetensors").exists()
engines = rows.filter(polars.col("suite") == "SeqLen")["engine"].unique()
assert {"torch", "jax", "native"} <= {*engines}, engines
page = Path("result/README.md").read_text()
assert "A training step of the baseline" in page and f"({machine}/SeqLen.md)" in page
assert len(page.splitlines()) <= 150, "result/README.md is longer than a page"
report = Path(f"result/{machine}/report.html").read_text()
assert "A training step of the baseline" in report and len(report.encode()) < 1_000_000
print(f"table of {machine}: {len(rows)} rows, as they should be")
