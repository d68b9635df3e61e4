"""Suites of hardware and system variables in the tables and on the page."""

import math
import re

import polars as pl
import pytest
from made_project import change_sample, failure, rows_of
from settled import settled

from cputrain.report.export import export

pytestmark = pytest.mark.tools

USUAL = settled()
NO_CPUFREQ = "this machine lets nobody set the clock: no cpufreq"


def skip(project, suite, value, experiment, reason):
    """A cell that the machine cannot run, as setup leaves it."""
    project.record(suite, value, [failure(experiment, "skipped", reason)])
    project.result(suite, value, math.nan)


def clocks(project, why_not):
    """Frequency and Governor; every value of which there is no reason ran."""
    project.suite("Frequency", "frequency_ghz", (0.4, 1.6, "max"), baseline="max")
    for value, step_s in ((0.4, 0.4), (1.6, 0.1), ("max", 0.042)):
        experiment = USUAL.but(frequency_ghz=value)
        if (reason := why_not(value)) is not None:
            skip(project, "Frequency", value, experiment, reason)
        else:
            alone = {"reference": None} if why_not("max") else {}
            project.cell("Frequency", value, step_s, experiment, **alone)
    project.suite("Governor", "governor", ("performance", "powersave"), baseline="performance")
    for value in ("performance", "powersave"):
        skip(project, "Governor", value, USUAL.but(governor=value), NO_CPUFREQ)
    project.save(commit="d" * 40, date=2_000)


def test_suites_of_which_every_cell_is_skipped_have_a_table_and_no_rank(sweep):
    clocks(sweep, lambda value: NO_CPUFREQ)
    summary = export(sweep.root)
    text = sweep.page()
    ranked = re.findall(r"^\| \d \| \[(\w+)\]", text, re.MULTILINE)
    assert ranked == ["CoreCount", "AttentionBackend"]
    table = sweep.page_of("Frequency")
    assert re.search(rf"^\| 0.4, 1.6, max \|.*\| skipped: {NO_CPUFREQ} \|$", table, re.MULTILINE)
    assert NO_CPUFREQ in sweep.page_of("Governor")
    rows = rows_of(summary, "Frequency")
    assert {row["effect"] for row in rows.values()} == {None}
    assert rows["0.4"]["frequency_ghz"] == "0.4"  # what was asked stays a column


def test_what_is_skipped_is_listed_once_by_reason(sweep):
    clocks(sweep, lambda value: NO_CPUFREQ)
    export(sweep.root)
    folded = sweep.page().split("<details>")[1].split("</details>")[0]
    assert folded.strip().splitlines() == [
        "<summary>Not possible here: 7 cells, each with its reason.</summary>",
        "",
        "- CoreCount (4, 8): n CPUs asked, only 2 allowed",
        f"- Frequency, Governor: {NO_CPUFREQ}",
    ]


def test_where_nothing_is_skipped_nothing_is_listed(project):
    project.suite("SeqLen", "seq_len", (128, 256, 512))
    project.cell("SeqLen", 256, 0.04)
    project.save()
    export(project.root)  # two cells did not run, which is not this machine's doing
    assert "Not possible here" not in project.page()


def test_a_clock_below_the_machine_s_lowest_is_skipped_and_the_others_are_compared(sweep):
    low = "the clock goes from 0.8 to 3.6 GHz here, not to 0.4"
    clocks(sweep, lambda value: low if value == 0.4 else None)
    rows = rows_of(export(sweep.root), "Frequency")
    assert (rows["0.4"]["status"], rows["0.4"]["reason"]) == ("skipped", low)
    assert rows["max"]["effect"] == pytest.approx(1, rel=0.03)
    assert rows["1.6"]["effect_low"] < 0.1 / 0.042 < rows["1.6"]["effect_high"]
    assert {rows[value]["frequency_ghz"] for value in ("1.6", "max")} == {"1.6", "max"}
    assert "Frequency (0.4): the clock goes from 0.8 to 3.6 GHz here, not to n" in sweep.page()
    table = pl.read_csv(sweep.root / "result" / "here" / "Frequency.csv")
    assert table["frequency_ghz"].to_list() == ["0.4", "1.6", "max"]


def test_a_suite_whose_baseline_is_skipped_still_has_its_times(sweep):
    clocks(sweep, lambda value: "not to its maximum" if value == "max" else None)
    rows = rows_of(export(sweep.root), "Frequency")
    assert rows["1.6"]["effect"] is None
    assert rows["1.6"]["reason"].startswith("no effect: it was measured without a reference")
    assert "| [Frequency]" not in sweep.page()  # no row is divided by another
    assert re.search(r"^\| 1.6 \| (99\.\d|100|101) ms \|", sweep.page_of("Frequency"), re.MULTILINE)


def test_settings_of_the_system_are_columns(project):
    project.suite("Allocator", "allocator", ("glibc", "jemalloc"))
    project.cell("Allocator", "glibc", 0.042)
    every = {
        "allocator": "jemalloc",
        "wait_policy": "passive",
        "pinning": "close",
        "intra_op_threads": 1,
        "inter_op_threads": 2,
        "huge_pages": "always",
        "numa_policy": "interleave",
        "instruction_set": "avx2",
        "turbo": "off",
    }
    project.cell("Allocator", "jemalloc", 0.04, USUAL.but(**every))
    project.save()
    row = rows_of(export(project.root), "Allocator")["jemalloc"]
    assert {name: row[name] for name in every} == every


def test_a_record_older_than_a_field_had_it_at_its_default(project):
    project.suite("Depth", "n_layer", (4,))
    made = project.cell("Depth", 4, 0.042)
    experiment = {**USUAL.to_json(), "system": {"cores": 1}}
    project.record("Depth", 4, [worker.but(experiment=experiment) for worker in made])
    project.save()
    row = rows_of(export(project.root), "Depth")["4"]
    assert (row["cores"], row["allocator"], row["turbo"]) == (1, "glibc", "as_found")
    assert row["intra_op_threads"] is None


def test_readings_are_columns_and_notes(project):
    project.suite("Allocator", "allocator", ("glibc", "jemalloc"))
    for name in ("glibc", "jemalloc"):
        made = project.cell("Allocator", name, 0.042, USUAL.but(allocator=name))
        for worker in made:
            for index in range(len(worker.samples)):
                noise = {"minor_faults": 11_000, "run_queue_share": 0.01}
                change_sample(worker, index, noise=noise)
        project.record("Allocator", name, made)
    project.save()
    rows = rows_of(export(project.root), "Allocator")
    assert rows["jemalloc"]["minor_faults_per_step"] == 1100
    assert rows["jemalloc"]["clock_ghz"] is None
    page = project.page_of("Allocator")
    assert re.search(r"^\| jemalloc \|.*\| 1 100 page faults per step \|$", page, re.M)
