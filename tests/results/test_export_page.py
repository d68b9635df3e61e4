"""The page of a made-up sweep."""

import math
import re

import pytest
from made_project import change_sample
from settled import settled

from cputrain.report.export import export

pytestmark = pytest.mark.tools

USUAL = settled()


def test_the_page_opens_with_what_the_numbers_say(sweep):
    facts = {"cores": "2", "memory": "23.5 GiB"}
    sweep.suite("Extra", "x", (1,))
    sweep.result("Extra", 1, math.nan)
    sweep.save(machine=facts, commit="d" * 40, date=2)
    export(sweep.root)
    text = sweep.page()
    opening = text[: text.index("### ")]
    assert "AMD EPYC, 2 cores, 23.5 GiB of memory, x86_64, Linux 6.18; torch 2.13.0+cpu" in opening
    assert re.search(
        r"takes 4\d\.\d ms here, [^:]*: 6 \d\d0 tokens/s, [67]\.\d min for 10 000", opening
    )
    assert "- Not measured yet: Depth, Extra." in opening
    settings = text[text.index("### Settings") : text.index("### Sizes")]
    ranked = re.findall(r"^\| (\d) \| \[(\w+)\]", settings, re.MULTILINE)
    assert ranked == [("1", "CoreCount"), ("2", "AttentionBackend")]
    assert re.search(
        r"\| all: baseline \| 1: 1\.\d\dx \[1\.\d\d, 1\.\d\d\] \*\*slower\*\*", settings
    )
    sizes = text[text.index("### Sizes") : text.index("### Paid once")]
    assert re.search(r"^\| \[SeqLen\].*\| 128: 0\.5\d+x .* \| 1024: 4\.", sizes, re.MULTILINE)
    assert "### Noise\n" in text and re.search(r"^\| torch \| \d+ \| ", text, re.MULTILINE)
    page = sweep.page_of("SeqLen")
    assert "# SeqLen on here\n\nTokens in one training sequence.\n\n| seq_len |" in page


def test_the_page_shows_failures_and_skips_with_their_reasons(sweep):
    export(sweep.root)
    text = sweep.page_of("SeqLen") + sweep.page_of("CoreCount")
    assert re.search(r"^\| 2048 \|.*\| out of memory: killed by the kernel \|$", text, re.MULTILINE)
    assert re.search(
        r"^\| 4, 8 \|.*\| skipped: n CPUs asked, only 2 allowed \|$", text, re.MULTILINE
    )


def test_every_picture_and_link_of_the_page_is_there(sweep):
    pages = [path for path in export(sweep.root).files if path.suffix == ".md"]
    assert len(pages) == 5
    linked = {}
    for page in pages:
        targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
        linked[page.name] = [(page.parent / target).resolve() for target in targets]
        assert all(path.is_file() for path in linked[page.name])
    pictures = {path.name for paths in linked.values() for path in paths if path.suffix == ".svg"}
    suites = ("AttentionBackend", "Baseline", "CoreCount", "SeqLen")
    assert pictures == {f"{name}.svg" for name in (*suites, "settings")}
    assert {path.resolve() for path in pages[1:]} <= {*linked["README.md"]}


def test_several_machines_stand_side_by_side(sweep):
    for name, step_s in (("big.one_x", 0.01), ("small", 0.1)):
        beside = {"machine": name, "reference": step_s}
        sweep.cell("SeqLen", 256, step_s, **beside)
        sweep.cell("SeqLen", 512, 2 * step_s, USUAL.but(seq_len=512), **beside)
    sweep.save()
    summary = export(sweep.root)
    assert summary.machines.keys() == {"here", "big.one_x", "small"}
    text = sweep.page()
    table = text[text.index("side by side") : text.index("## big.one_x")]
    assert re.findall(r"^\| \[([\w.]+)\]", table, re.MULTILINE) == ["big.one_x", "here", "small"]
    rows = re.findall(r"^\|.*", table, re.MULTILINE)
    assert len({row.count("|") for row in rows}) == 1
    assert not re.search(r"\dx", table)  # two machines are not measured beside each other
    links = set(re.findall(r"\]\(#([^)]*)\)", text))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings}
    assert links <= anchors


def test_the_page_tells_what_is_simulated_or_composed(sweep):
    sweep.cell("Depth", 2, 0.02, USUAL.but(n_layer=2), simulated="4-bit weights in fp32")
    sweep.cell("Depth", 4, 0.04, composed="sum of 2 micro-batches x 8 and the update")
    sweep.save(commit="d" * 40, date=2_000)
    export(sweep.root)
    text = sweep.page_of("Depth")
    assert re.search(r"^\| 2 \|.*[|;] 4-bit weights in fp32;", text, re.MULTILINE)
    assert re.search(r"^\| 4 \|.*[|;] sum of 2 micro-batches x 8 and", text, re.MULTILINE)


def test_disturbed_cells_do_not_set_the_baseline_time(project):
    project.suite("Suite", "x", (1,))
    project.suite("Other", "x", (1,))
    made = project.cell("Suite", 1, 0.4)
    change_sample(made[0], 0, disturbed=True)
    project.record("Suite", 1, made)
    project.cell("Other", 1, 0.042)
    project.save()
    export(project.root)
    assert re.search(r"takes 4\d\.\d ms here", project.page())


def test_every_library_that_was_measured_has_its_versions(sweep):
    versions = {"torch": "2.8.0", "ipex": "2.8.0+cpu", "numpy": "2.4.6", "python": "3.11.7"}
    sweep.cell("Depth", 2, 0.02, USUAL.but(n_layer=2), versions=versions)
    versions = {"cc_version": "GCC 12.2.0", "numpy": "2.4.6", "python": "3.11.7"}
    sweep.cell("Depth", 4, 0.02, USUAL.but(n_layer=4), versions=versions)
    sweep.save(commit="d" * 40, date=2_000)
    export(sweep.root)
    known = "torch 2.13.0+cpu and 2.8.0, IPEX 2.8.0+cpu, numpy 2.4.6, GCC 12.2.0, Python 3.11.7."
    assert known in sweep.page()
