"""Rows and the tables made of them."""

from dataclasses import replace

import polars as pl
import pytest
from made_project import change_sample
from settled import settled

from cputrain.results import columns, experiment_columns, rows, tables

pytestmark = pytest.mark.tools

USUAL = settled()


@pytest.fixture
def cell_and_workers(project):
    """One cell of two workers, read back."""
    project.suite("Threads", "threads", (1,))
    made = project.cell("Threads", 1, 0.02, USUAL.but(threads=1))
    change_sample(made[1], 2, disturbed=True)
    project.record("Threads", 1, made)
    project.save()
    (cell,), _ = rows.read(project.root, "here")
    return cell, made


def test_a_row_says_what_the_workers_measured(cell_and_workers):
    cell, made = cell_and_workers
    row = columns.row(cell, {"fp32": {"1": 1e12, "2": 4e12}})
    times = [seconds for worker in made for seconds in worker.step_s]
    assert list(row) == list(columns.SCHEMA)
    assert (row["workers"], row["samples"], row["steps"]) == (2, 6, 60)
    assert row["step_s"] == pytest.approx(0.02, rel=0.05)
    assert row["step_s_min"] == min(times)
    assert row["tokens_per_s"] == pytest.approx(256 / row["step_s"])
    assert row["gflop_per_s"] == pytest.approx(10 / row["step_s"])
    assert row["hfu"] == pytest.approx(1e10 / row["step_s"] / 1e12)
    assert (row["disturbed_samples"], row["peak_rss_bytes"]) == (1, 400_000_000)
    assert (row["first_loss"], row["last_loss"], row["first_step_s"]) == (5.6, 3.1, 0.3)
    assert row["import_s"] == 2.0
    assert row["outside_s"] is None  # the reference's blocks are in the wall-clock time too
    alone = replace(cell, workers=tuple(worker.but(pairs=[]) for worker in made))
    assert columns.row(alone, {})["outside_s"] == pytest.approx(3.0 - 2.0 - 0.6)


def test_only_workers_that_went_through_a_phase_tell_its_time(cell_and_workers):
    cell, made = cell_and_workers
    forked = replace(cell, workers=tuple(w.but(forked=True, code_was_cached=True) for w in made))
    row = columns.row(forked, {})
    assert row["import_s"] is None and row["first_step_s"] is None
    (first, *others) = made
    both = replace(cell, workers=(first, *(w.but(forked=True) for w in others)))
    assert columns.row(both, {})["import_s"] == 2.0
    assert (row["torch"], row["data_source"]) == ("2.13.0+cpu", "hub")


def test_mfu_needs_a_peak_of_as_many_threads(cell_and_workers):
    assert columns.row(cell_and_workers[0], {"fp32": {"2": 4e12}})["mfu"] is None


def row_with(project, peaks=None, **others):
    """The row of one cell whose workers have `others`."""
    project.suite("Suite", "x", (1,))
    project.cell("Suite", 1, 0.02, **others)
    project.save()
    (cell,), _ = rows.read(project.root, "here")
    return columns.row(cell, peaks or {})


COUNTS = {"tokens_per_step": 256, "flops_per_step": 10**10}


def test_mfu_is_over_the_peak_of_the_type_that_is_multiplied(project):
    counts = COUNTS | {"flops_by_type": {"bf16": 10**10}}
    peaks = {"fp32": {"2": 1e12}, "bf16": {"2": 5e12}}
    row = row_with(project, peaks, counts=counts)
    assert row["mfu"] == pytest.approx(1e10 / row["step_s"] / 5e12)
    assert row["gflop_per_s"] == pytest.approx(10 / row["step_s"])


def test_mfu_of_several_types_is_their_least_time_over_the_step_time(project):
    counts = COUNTS | {"flops_by_type": {"int8": 4 * 10**9, "fp32": 6 * 10**9}}
    peaks = {"fp32": {"2": 1e12}, "int8": {"2": 4e12}}
    row = row_with(project, peaks, counts=counts)
    assert row["hfu"] == pytest.approx((0.001 + 0.006) / row["step_s"])


def test_mfu_needs_the_peaks_of_all_its_types(project):
    counts = COUNTS | {"flops_by_type": {"int8": 4 * 10**9, "fp32": 6 * 10**9}}
    assert row_with(project, {"fp32": {"2": 1e12}}, counts=counts)["mfu"] is None


def test_memory_is_told_part_by_part(project):
    parts = {part: 10**i for i, part in enumerate(columns.PARTS)}
    counts = COUNTS | {"memory": parts, "memory_estimate_bytes": sum(parts.values())}
    row = row_with(project, counts=counts | {"n_trained": 7, "flops_formula": 8})
    assert [row[column] for column in columns.MEMORY.values()] == list(parts.values())
    assert row["memory_estimate_bytes"] == sum(parts.values())
    assert (row["n_trained"], row["flops_formula"]) == (7, 8)


def test_what_a_record_does_not_say_is_unknown(project):
    row = row_with(project)
    names = ("optimizer_state_bytes", "wait_share", "epoch_s", "simulated", "composed")
    assert [row[name] for name in names] == [None] * 5


def test_the_data_path(project):
    data = {"source": "hub", "counted_share": 0.9, "prepared_s": 3.5, "steps_per_epoch": 1000}
    project.suite("Suite", "x", (1,))
    made = project.cell("Suite", 1, 0.02, data=data, optimizer_state_bytes=5, simulated="in fp32")
    made[0].phases["data_s"], made[1].phases["data_s"] = 1.0, 3.0
    for worker in made:
        for index, sample in enumerate(worker.samples):
            change_sample(worker, index, waited_s=0.1 * sum(sample.step_s))
    project.record("Suite", 1, made)
    project.save()
    (cell,), _ = rows.read(project.root, "here")
    row = columns.row(cell, {})
    assert row["wait_share"] == pytest.approx(0.1)
    assert row["epoch_s"] == pytest.approx(1000 * row["step_s"])
    assert (row["data_s"], row["prepared_s"], row["counted_share"]) == (2.0, 3.5, 0.9)
    assert (row["optimizer_state_bytes"], row["simulated"], row["composed"]) == (5, "in fp32", None)


def test_every_field_of_the_experiment_is_a_column(cell_and_workers):
    row = columns.row(cell_and_workers[0], {})
    assert {*USUAL.flat()} - {*experiment_columns.RENAMED, *experiment_columns.LEFT_OUT} <= {*row}
    assert (row["threads"], row["cores"], row["seq_len"]) == (1, None, 256)
    budget = USUAL.budget  # how many steps is the worker's to say
    budget_columns = (row["steps_per_sample"], row["samples_per_worker"])
    assert budget_columns == (budget.steps, budget.samples)


def test_lists_are_joined_and_empty_ones_are_unknown(project):
    project.suite("Allocator", "allocator", ("a", "b"))
    project.cell("Allocator", "a", 0.02, USUAL.but(preload=("/a.so", "/b.so")))
    project.cell("Allocator", "b", 0.02)
    project.save()
    cells, _ = rows.read(project.root, "here")
    assert [columns.row(cell, {})["preload"] for cell in cells] == ["/a.so:/b.so", None]


def test_tables_keep_types_also_where_all_is_unknown(tmp_path):
    empty = dict.fromkeys(columns.SCHEMA) | {"machine": "m", "suite": "s", "status": "skipped"}
    written = tables.write_machine(tmp_path, "m", [empty])
    tables.join(tmp_path, ["m"])
    assert written == [tmp_path / "m" / "results.parquet", tmp_path / "m" / "s.csv"]
    back = pl.read_parquet(tmp_path / "results.parquet")
    assert dict(back.schema) == columns.SCHEMA
    assert pl.read_csv(tmp_path / "results.csv").columns == list(columns.SCHEMA)


def test_text_survives_csv(tmp_path):
    reason = 'it said "no", twice;\nthen | stopped'
    row = dict.fromkeys(columns.SCHEMA) | {"machine": "m", "suite": "s", "reason": reason}
    tables.write_machine(tmp_path, "m", [row])
    assert pl.read_csv(tmp_path / "m" / "s.csv")["reason"][0] == reason


def test_no_rows_make_empty_tables(tmp_path):
    tables.join(tmp_path, [])
    assert pl.read_csv(tmp_path / "results.csv").height == 0
