"""Rows and the tables made of them."""

import polars as pl
import pytest

from cputrain.experiment import Experiment
from cputrain.results import columns, rows, tables

USUAL = Experiment()


@pytest.fixture
def one(project):
    """One cell of two workers, read back."""
    project.suite("Threads", "threads", (1,))
    made = project.cell("Threads", 1, 0.02, USUAL.but(threads=1))
    made[1]["samples"][2]["disturbed"] = True
    project.record("Threads", 1, made)
    project.save()
    (cell,), _ = rows.read(project.root, "here")
    return cell, made


def test_a_row_says_what_the_workers_measured(one):
    cell, made = one
    row = columns.row(cell, {"1": 1e12, "2": 4e12})
    times = [t for w in made for s in w["samples"] for t in s["step_s"]]
    assert list(row) == list(columns.SCHEMA)
    assert (row["workers"], row["samples"], row["steps"]) == (2, 6, 60)
    assert row["step_s"] == pytest.approx(0.02, rel=0.05)
    assert row["step_s_min"] == min(times)
    assert row["tokens_per_s"] == pytest.approx(256 / row["step_s"])
    assert row["gflop_per_s"] == pytest.approx(10 / row["step_s"])
    assert row["mfu"] == pytest.approx(1e10 / row["step_s"] / 1e12)
    assert (row["disturbed_samples"], row["peak_rss_bytes"]) == (1, 400_000_000)
    assert (row["first_loss"], row["last_loss"], row["first_step_s"]) == (5.6, 3.1, 0.3)
    assert row["outside_s"] == pytest.approx(3.0 - 2.0 - 0.6)
    assert (row["torch"], row["data_source"]) == ("2.13.0+cpu", "hub")


def test_mfu_needs_a_peak_of_as_many_threads(one):
    assert columns.row(one[0], {"2": 4e12})["mfu"] is None


def test_every_field_of_the_experiment_is_a_column(one):
    row = columns.row(one[0], {})
    assert set(USUAL.flat()) - set(columns.ASKED) <= set(row)
    assert (row["threads"], row["cores"], row["seq_len"]) == (1, None, 256)
    assert (row["steps_per_sample"], row["samples_per_worker"]) == (10, 3)


def test_lists_are_joined_and_empty_ones_are_unknown(project):
    project.suite("Allocator", "allocator", ("a", "b"))
    project.cell("Allocator", "a", 0.02, USUAL.but(preload=("/a.so", "/b.so")))
    project.cell("Allocator", "b", 0.02)
    project.save()
    cells, _ = rows.read(project.root, "here")
    assert [columns.row(cell, {})["preload"] for cell in cells] == ["/a.so:/b.so", None]


def test_tables_keep_types_also_where_all_is_unknown(tmp_path):
    empty = dict.fromkeys(columns.SCHEMA) | {"machine": "m", "suite": "s", "status": "skipped"}
    written = tables.write(tmp_path, [empty])
    assert written[0] == tmp_path / "m" / "s.csv"
    back = pl.read_parquet(tmp_path / "results.parquet")
    assert dict(back.schema) == columns.SCHEMA
    assert pl.read_csv(tmp_path / "results.csv").columns == list(columns.SCHEMA)


def test_text_survives_csv(tmp_path):
    reason = 'it said "no", twice;\nthen | stopped'
    row = dict.fromkeys(columns.SCHEMA) | {"machine": "m", "suite": "s", "reason": reason}
    tables.write(tmp_path, [row])
    assert pl.read_csv(tmp_path / "m" / "s.csv")["reason"][0] == reason


def test_no_rows_make_empty_tables(tmp_path):
    tables.write(tmp_path, [])
    assert pl.read_csv(tmp_path / "results.csv").height == 0
