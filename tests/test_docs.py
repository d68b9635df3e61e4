"""README.md and docs/ name what exists: pages, files, modules, commands, flags, suites, figures."""

import ast
import importlib.util
import re
import shlex

import pytest

from cputrain.commands import cli
from cputrain.paths import PROJECT

pytestmark = pytest.mark.tools

README = PROJECT / "README.md"
DOCS = PROJECT / "docs"
PAGES = [README, *sorted(DOCS.rglob("*.md"))]
BY_NAME = [pytest.param(page, id=str(page.relative_to(PROJECT))) for page in PAGES]


def anchors(page):
    """What a link may name behind "#", as code hosts make it of a heading."""
    headings = re.findall(r"(?m)^#+ (.+)$", page.read_text())
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def suites():
    """Classes of benchmarks/ that are suites."""
    nodes = [
        node
        for path in (PROJECT / "benchmarks").glob("*.py")
        for node in ast.parse(path.read_text()).body
    ]
    return {n.name for n in nodes if isinstance(n, ast.ClassDef) and not n.name.startswith("_")}


def test_the_readme_stays_short_and_names_every_page():
    text = README.read_text()
    assert len(text.splitlines()) <= 150
    assert {page.name for page in DOCS.glob("*.md")} <= set(re.findall(r"docs/([\w-]+\.md)", text))


def test_the_page_of_figures_names_all_of_their_pages():
    named = set(re.findall(r"\(figures/([\w-]+\.md)", (DOCS / "figures.md").read_text()))
    assert named == {page.name for page in (DOCS / "figures").iterdir()}


@pytest.mark.parametrize("page", BY_NAME)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


@pytest.mark.parametrize("page", BY_NAME)
def test_every_file_and_module_that_is_named_exists(page):
    text = page.read_text()
    for name in re.findall(r"[`(]((?:cputrain|benchmarks|tests|docs|\.ci)/[\w./-]*)", text):
        assert (PROJECT / name).exists(), name
    for name in re.findall(r"(?<![\w/.])(\w+/[\w/]*\w\.py)\b", text):
        assert (PROJECT / name).exists() or (PROJECT / "cputrain" / name).exists(), name
    for name in re.findall(r"-m (cputrain[\w.]*\w)", text):
        assert importlib.util.find_spec(name), name


@pytest.mark.parametrize("page", BY_NAME)
def test_every_method_that_is_named_exists(page):
    program = [path.read_text() for path in (PROJECT / "cputrain").rglob("*.py")]
    for kind, method in re.findall(r"`([A-Z]\w+)\.(\w+)`", page.read_text()):
        pattern = rf"(?s)\bclass {kind}\b.*\bdef {method}\b"
        assert any(re.search(pattern, text) for text in program), (kind, method)


@pytest.mark.parametrize("page", BY_NAME)
def test_every_variable_of_the_environment_is_one_that_the_program_reads(page):
    program = "".join(path.read_text() for path in (PROJECT / "cputrain").rglob("*.py"))
    for name in re.findall(r"\bCPUTRAIN_[A-Z_]*[A-Z]", page.read_text()):
        assert name in program, name


@pytest.mark.parametrize("page", BY_NAME)
def test_every_command_parses(page):
    for words in re.findall(r"python3 bench\.py([^`#\n]*)", page.read_text()):
        command = words.strip().split("  ")[0].replace("[run]", "run")
        if command.startswith("VERB"):
            continue
        numbers = command.replace("MINUTES", "1").replace(" N", " 1")
        assert cli.parse(shlex.split(numbers)).verb, command


def test_the_flags_of_a_run_are_all_explained(capsys):
    with pytest.raises(SystemExit):
        cli.parse(["run", "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    table = (DOCS / "settings.md").read_text().split("## Flags of a run", 1)[1].split("\n\n")[1]
    assert set(re.findall(r"(?m)^\| `(--[a-z-]+)", table)) == known


def test_the_readme_lists_every_suite():
    text = README.read_text().split("## What it varies\n", 1)[1].split("\n## ", 1)[0]
    named = [
        name
        for row in re.findall(r"(?m)^\| [^|]+ \| (.+) \|$", text)[1:]
        for name in re.findall(r"\b[A-Z]\w+", row.partition(":")[0])
    ]
    assert set(named) == suites()
