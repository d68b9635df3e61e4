"""Two machines beside each other: what is equal, what pays on one alone, what a page says of it."""

import math
import re
from dataclasses import replace

import polars as pl
import pytest
from made_compared import measured
from made_project import Project, worker
from markdown_it import MarkdownIt
from settled import settled

from cputrain import paths
from cputrain.analysis.machines import differing, equal, machine
from cputrain.report import compared, compared_plot, compared_table
from cputrain.report.picture import color

pytestmark = pytest.mark.tools

EVIL = '<img src=x onerror=alert(1)> [a](javascript:b) | `c` \x1b]0;d\x07 =HYPERLINK("e")'


def beside(project, first="old", other="new"):
    machines = [machine.read(project.root, name) for name in (first, other)]
    assert all(problems == [] for _, problems in machines)
    return compared.compare(*(its for its, _ in machines))


def test_the_ratio_is_of_equal_experiments_and_its_interval_holds_it(two):
    its = beside(two)
    (torch,) = its.engines
    manual = 0.7 / 1.5
    suites = {line.suite: line for line in its.suites}
    assert torch.engine == "torch" and torch.suites == 4 and its.other_experiments == 0
    assert suites["SeqLen"].value == pytest.approx(2.0, rel=0.03)
    assert suites["AttentionBackend"].value == pytest.approx(2 * math.sqrt(manual), rel=0.05)
    assert torch.low < 2 * manual ** (1 / 8) < torch.high and torch.low > 1
    assert torch.verdict == suites["CoreCount"].verdict == "slower"
    back = beside(two, "new", "old")
    assert back.engines[0].verdict == "faster"
    assert back.engines[0].value == pytest.approx(1 / torch.value)


def test_another_experiment_or_another_work_is_not_compared(two):
    usual = settled()
    two.cell("SeqLen", 128, 0.01, usual.but(seq_len=128, batch_size=7), machine="new")
    two.cell("Baseline", "A", 0.01, machine="new", counts={"n_params": 9})
    its = beside(two)
    assert its.other_experiments == 2
    assert "2 cells have the same name on both and ran another experiment" in its.left_out
    names = {f"{pair.suite}/{pair.value}" for pair in its.equal}
    assert "SeqLen/128" not in names and "Baseline/A" not in names and "Baseline/B" in names


def test_what_a_record_says_that_its_experiment_is_called_is_not_asked(two):
    record = worker(settled(), [[0.04]])
    other = worker(settled().but(seq_len=128), [[0.04]]).but(identity=record.identity)
    assert not equal.is_equal(record, other.but(counts=record.counts))
    assert equal.is_equal(record, record.but(identity="x"))


def test_settings_that_pay_on_one_alone_come_first(two):
    its = beside(two)
    (setting,) = its.paying
    assert (setting.equal.suite, setting.equal.value) == ("AttentionBackend", "manual")
    assert setting.verdicts == ("faster", "slower") and setting.pays == "first"
    assert setting.first.effect == pytest.approx(0.7, rel=0.05)
    assert beside(two, "new", "old").paying[0].pays == "other"


def test_of_less_than_a_quarter_of_an_hour_there_is_a_ratio_and_no_interval(two):
    """Eleven cells, a minute apart, are of ten minutes."""
    measured(two, "short", 1.0, every=1)
    its = beside(two, "short", "new")
    assert {(line.low, line.reason) for line in (*its.engines, *its.suites)} == {
        (None, "no interval: too few moments of short tell its drift")
    }
    assert its.engines[0].value > 1.5 and its.engines[0].verdict == "not told"
    assert "short too few moments to tell, of 15 min at least" in its.drift


def test_what_differs_in_the_machines_is_listed(two):
    known = {line.what: (line.first, line.other) for line in beside(two).facts}
    assert known == {"isa": ("avx2", "avx512f"), "kernel": ("6.1", "6.8")}


def test_what_is_recorded_of_one_alone_does_not_differ(two):
    """It is named, in one line for each machine."""
    measured(two, "bare", 0.5, facts={"isa": None, "kernel": "", "cpu": None, "numa_nodes": "1"})
    its = beside(two, "old", "bare")
    assert its.facts == []
    told = ["not recorded of old: numa_nodes", "not recorded of bare: cpu, isa, kernel"]
    assert [line for line in compared.lines(its) if "recorded" in line] == told
    page = compared.text([its], "x")
    assert all(f"\n{line}\n" in page for line in told) and "unknown" not in page
    assert beside(two).lacking == []


def test_releases_that_differ_are_said_beside_the_figure(two):
    assert beside(two).releases == [] and beside(two).confounded is None
    versions = {"python": "3.11.7", "torch": "2.12.1+cpu", "numpy": "2.4.6"}
    two.cell("SeqLen", 256, 0.02, machine="new", reference=0.02, versions=versions)
    its = beside(two)
    assert its.releases == [differing.Differs("torch", "2.13.0+cpu", "2.12.1+cpu and 2.13.0+cpu")]
    assert "(torch 2.13.0+cpu on old, 2.12.1+cpu and 2.13.0+cpu on new)" in its.confounded
    assert "cannot be told apart" in its.confounded
    assert its.confounded in compared.lines(its)


def test_a_release_that_is_recorded_of_one_alone_is_no_difference(two):
    """Only cells that need torchao import it; a commit that is not known is named."""
    versions = {"python": "3.11.7", "torch": "2.13.0+cpu", "numpy": "2.4.6"}
    for name, more in (("with", {"torchao": "0.18.0"}), ("without", {})):
        measured(two, name, 1.0, versions=versions | more, commit="" if more else "c" * 40)
    its = beside(two, "with", "without")
    assert its.releases == [] and its.confounded is None
    assert its.lacking == ["not recorded of with: commit of cputrain"]
    assert its.lacking[0] in compared.lines(its)


def test_the_table_has_every_equal_experiment_once_and_both_sides(two, tmp_path):
    its = beside(two)
    compared_table.write(tmp_path, "x", [its])
    table = pl.read_parquet(tmp_path / "x.parquet")
    assert table.columns == list(compared_table.SCHEMA) and table.height == len(its.equal) == 11
    assert pl.read_csv(tmp_path / "x.csv").height == 11
    row = table.row(by_predicate=pl.col("value") == "128", named=True)
    assert row["raw_ratio"] == pytest.approx(row["step_s"] / row["beside_step_s"])
    assert (row["machine"], row["beside"], row["torch"]) == ("old", "new", "2.13.0+cpu")
    assert row["suite_low"] < row["suite_ratio"] < row["suite_high"]


def test_each_column_of_the_table_is_explained():
    text = (paths.PROJECT / "docs" / "machines.md").read_text()
    names = {name for name in compared_table.SCHEMA if not name.startswith(compared_table.BESIDE)}
    assert {*names, f"{compared_table.BESIDE}..."} <= set(re.findall(r"`([\w.]+)`", text))
    assert "docs/machines.md" in (paths.PROJECT / "cputrain/report/compared.md.j2").read_text()


def test_a_first_step_is_in_no_ratio(two):
    """It compiles, and is there once: a section of its own has it, and a row."""
    two.suite("JitWarmup", "jit_state", ("steady", "cold", "warm"))
    warm = settled(compile="inductor")
    for name, times in (("old", 9), ("new", 1)):
        beside_s = {"machine": name, "reference": 0.04 if name == "old" else 0.02}
        two.cell("JitWarmup", "steady", beside_s["reference"], warm, **beside_s)
        before = beside(two) if name == "new" else None
        cold = warm.but(jit_state="cold")
        two.cell("JitWarmup", "cold", times * 0.5, cold, machine=name, reference=None)
    its = beside(two)
    assert (its.engines, its.suites, its.unpaired) == (before.engines, before.suites, [])
    assert [pair.value for pair in its.first_steps] == ["cold"]
    page = compared.text([its], "x")
    assert re.search(r"\| JitWarmup \| cold \| 4\.\d+ s \| \d+ ms \| [89]\.\d+x \|", page)
    rows = {r["value"]: r for r in compared_table.rows(its) if r["suite"] == "JitWarmup"}
    assert rows["steady"]["counts_once"] and rows["steady"]["suite_ratio"] > 1.5
    assert rows["cold"]["counts_once"] is False and rows["cold"].get("suite_ratio") is None
    assert "First steps" not in compared.text([before], "x")


def test_a_comparison_of_first_steps_alone_has_a_page_and_no_ratio(project):
    project.suite("JitWarmup", "jit_state", ("steady", "cold", "warm"))
    for name in ("old", "new"):
        cold = settled(compile="inductor", jit_state="cold")
        project.cell("JitWarmup", "cold", 0.5, cold, machine=name, reference=None)
    its = beside(project)
    assert its.engines == its.suites == compared.surest(its) == []
    assert "First steps" in compared.text([its], "x")
    assert compared_plot.svg([its]).startswith(b"<svg")


def test_cells_without_pairs_are_in_their_suite_and_in_no_mean(two):
    before = beside(two)
    two.suite("Preset", "preset", ("one", "two"), baseline=None)
    for name, reference in (("old", None), ("new", 0.02)):
        two.cell("Preset", "one", 0.5, machine=name, reference=reference)
    its = beside(two)
    counts = [[(line.suites, line.cells) for line in each.engines] for each in (before, its)]
    assert counts[0] == counts[1]
    assert {line.suite for line in its.suites} == {"Preset", *(s.suite for s in before.suites)}
    assert "1 cell has no pairs on both (Preset)" in its.left_out
    assert its.left_out in compared.lines(its)
    for name in ("bare", "naked"):
        two.cell("Preset", "one", 0.5, machine=name, reference=None)
    its = beside(two, "bare", "naked")
    assert its.engines == [] and [line.suite for line in compared.surest(its)] == ["Preset"]


def test_what_records_say_is_shown_and_not_obeyed(project):
    measured(project, "good", 1.0, manual=0.7)
    measured(project, "bad", 1.0, manual=1.5, facts={"l2": EVIL, "kernel": EVIL, "isa": EVIL},
             versions={"torch": EVIL, EVIL: EVIL}, commit=EVIL, session=EVIL)  # fmt: skip
    its = beside(project, "good", "bad")
    page = compared.text([its], "good-bad")
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(page)
    inline = [child for token in tokens for child in token.children or ()]
    assert not {"html_block", "html_inline"} & {token.type for token in (*tokens, *inline)}
    links = {token.attrs["href"] for token in inline if token.type == "link_open"}
    assert links == {"good-bad.csv", "good-bad.parquet", "../README.md"} and "\x1b" not in page
    for part in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        pipes = [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in part.splitlines()]
        assert len(set(pipes)) == 1
    assert b"<img" not in compared_plot.svg([its])
    row = compared_table.rows(its)[0]
    table = compared_table.tables.frame([row], compared_table.SCHEMA)
    assert "\x1b" not in table["beside_commit"][0]


def test_a_machine_of_which_too_little_is_known_has_no_interval(two):
    few = Project(two.root)
    few.suite("SeqLen", "seq_len", (128, 256))
    few.cell("SeqLen", 256, 0.03, machine="quick", mode="quick")
    its = beside(two, "quick", "new")
    assert its.engines[0].low is None and "too few moments of quick" in its.engines[0].reason
    assert "too few moments to tell" in its.drift
    assert compared_plot.svg([its]).startswith(b"<svg")
    suites, engines = (
        [replace(line, engine="native") for line in lines] for lines in (its.suites, its.engines)
    )
    (line,) = compared_plot.draw([replace(its, suites=suites, engines=engines)]).lines
    assert line.color == color("native", 0) != color("torch", 0)
