"""A suite whose values are no settings of one variable: the presets."""

import re

import pytest

from cputrain.experiment.presets import PRESETS
from cputrain.report.export import export

pytestmark = pytest.mark.tools

NAMES = ("mlm-80m", "llm-25m", "wiki-24m")


def measured(project):
    project.suite("Preset", "preset", NAMES, baseline=None)
    alone = {"reference": None, "reasons": {"reference": "the suite has no baseline"}}
    project.cell("Preset", "mlm-80m", 2.0, PRESETS["mlm-80m"].experiment, **alone)
    project.cell("Preset", "llm-25m", 20.0, PRESETS["llm-25m"].experiment, **alone)
    project.save(commit="d" * 40, date=2_000)


def text_of(project):
    return (project.root / "result" / "README.md").read_text()


def test_there_are_no_effects_and_no_remarks_about_it(sweep):
    measured(sweep)
    rows = [r for r in export(sweep.root).rows_of("here") if r["suite"] == "Preset"]
    assert [row["status"] for row in rows] == ["ok", "ok"]
    assert all(row["effect"] is None and row["verdict"] is None for row in rows)
    assert not any(row["reason"] for row in rows)


def test_others_still_say_why_they_have_none(project):
    project.suite("Preset", "preset", NAMES, baseline="abc")
    project.cell("Preset", "mlm-80m", 2.0, PRESETS["mlm-80m"].experiment, reference=None)
    project.save()
    rows = export(project.root).rows_of("here")
    assert rows[0]["reason"].startswith("no effect: it was measured without a reference")


def test_it_is_not_among_the_ranked_and_has_its_table(sweep):
    measured(sweep)
    export(sweep.root)
    text = text_of(sweep)
    ranked = re.findall(r"^\| (?:\d \| )?\[(\w+)\]\(here", text, re.MULTILINE)
    assert ranked == ["CoreCount", "AttentionBackend", "SeqLen"]
    assert "| mlm-80m |" in sweep.page_of("Preset")


def test_the_page_has_the_published_runs(sweep):
    measured(sweep)
    export(sweep.root)
    assert "[published runs](here/published.md)" in text_of(sweep)
    section = sweep.page_of("published")
    assert "AMD EPYC" in section  # ours is named beside theirs
    table = [line for line in section.splitlines() if line.startswith("| ")]
    columns = {line.count("|") for line in table}
    assert len(columns) == 1
    (mlm,) = (line for line in table if line.startswith("| mlm-80m |"))
    assert "| 3.30 M / 80 M |" in mlm  # as the record counted, beside what the source states
    assert re.search(r"\| 2\.[23]\dx \|", mlm) and "i5-1240P" in mlm
    assert "- llm-25m: " in section
    for word in ("i5-8400", "Xeon E5-2680"):
        assert word in section


def test_no_such_table_where_no_preset_ran(sweep):
    sweep.suite("Preset", "preset", NAMES, baseline=None)
    export(sweep.root)
    assert "published" not in text_of(sweep)
