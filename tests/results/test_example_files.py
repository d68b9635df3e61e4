"""example/ from a machine's results, README's part from it, and its line beside other machines."""

import datetime
import os
import shutil
import subprocess
import sys

import polars as pl
import pytest
from made_project import worker
from markdown_it import MarkdownIt

from cputrain.commands import cli
from cputrain.errors import RunError, UsageError
from cputrain.experiment import Experiment
from cputrain.report import example, example_files, readme
from cputrain.report.export import export
from cputrain.results import packed, rows

pytestmark = pytest.mark.tools

USUAL = Experiment()
EMPTY = f"# Title\n\n{readme.BEGIN}\nold\n{readme.END}\n\nThe rest.\n"


@pytest.fixture
def clone(tmp_path_factory):
    """Where example/ is made: a folder with a README.md."""
    folder = tmp_path_factory.mktemp("clone")
    (folder / "README.md").write_text(EMPTY)
    return folder


def everything(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_it_has_records_results_tables_pictures_and_pages_and_no_model(sweep, clone):
    (sweep.root / "output" / "here" / "SeqLen" / "128" / "model.safetensors").write_bytes(b"1" * 99)
    export(sweep.root)
    made = example_files.make(sweep.root, clone)
    names = {path.as_posix() for path in everything(clone / "example")}
    assert {
        "example.json",
        "output/here/records.jsonl.gz",
        "result/README.md",
        "result/results.csv",
        "result/asv/benchmarks.json",
        "result/asv/here/machine.json",
        "result/here/report.html",
        "result/here/SeqLen.md",
        "result/here/SeqLen.csv",
        "result/here/plots/SeqLen.svg",
        "result/here/plots/settings.svg",
    } <= names
    assert not any("safetensors" in name or name.startswith("output/here/S") for name in names)
    assert made.machine == "here" and made.records == 18 and made.problems == []
    assert made.size == sum(map(len, everything(clone / "example").values()))
    theirs, problems = rows.read(clone / "example", "here")
    assert problems == [] and theirs == rows.read(sweep.root, "here")[0]
    assert list((clone / ".asv").iterdir()) == []


def test_its_tables_are_those_of_where_it_comes_from(sweep, clone):
    export(sweep.root)
    example_files.make(sweep.root, clone)
    own, its = (pl.read_csv(r / "result" / "results.csv") for r in (sweep.root, clone / "example"))
    assert own.equals(its)


def test_made_again_it_is_the_same_and_nothing_old_is_left(sweep, clone):
    example_files.make(sweep.root, clone)
    first = everything(clone)
    (clone / "example" / "old.txt").write_text("of an earlier run")
    example_files.make(sweep.root, clone)
    assert everything(clone) == first


def test_it_is_made_of_an_example_too(sweep, clone):
    example_files.make(sweep.root, clone)
    first = everything(clone)
    example_files.make(clone / "example", clone)
    assert everything(clone) == first


def test_the_part_of_the_readme_is_of_its_rows_and_the_rest_stays(sweep, clone):
    example_files.make(sweep.root, clone)
    text = (clone / "README.md").read_text()
    assert text.startswith("# Title\n\n<!--") and text.endswith("-->\n\nThe rest.\n")
    assert "old" not in text.split() and "example/result/here/plots/settings.svg" in text
    told = {
        (row["suite"], row["value"]): row
        for row in pl.read_csv(clone / "example" / "result" / "results.csv").to_dicts()
    }
    assert told["AttentionBackend", "manual"]["verdict"] == "slower"
    effect = told["AttentionBackend", "manual"]["effect"]
    assert f"| attention: manual instead of sdpa | {effect:.2f}x [" in text
    assert "| cores: 1 instead of all | 1.6" in text or "| cores: 1 instead of all | 1.7" in text
    assert "SeqLen" not in text and "seq_len" not in text  # another work
    assert "21 November 2026" in text
    caption = "Orange: slower, grey square: the same within 3 %."  # no circle is drawn
    assert caption in " ".join(text.split())
    assert caption in (clone / "example" / "result" / "README.md").read_text()
    MarkdownIt("commonmark").parse(text)


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        ("2026-11-28", "2026-11-28", "28 November 2026"),
        ("2026-11-28", "2026-11-29", "28 to 29 November 2026"),
        ("2026-11-30", "2026-12-01", "30 November 2026 to 1 December 2026"),
        ("2025-11-30", "2026-11-01", "30 November 2025 to 1 November 2026"),
    ],
)
def test_the_days_are_said_in_few_words(first, last, said):
    days = [datetime.date.fromisoformat(day) for day in (last, first, last)]
    assert readme.days(days) == said


def test_of_a_suite_the_surest_setting_is_told_and_eight_at_most(project):
    usual = USUAL
    for number in range(12):
        name = f"S{number}"
        project.suite(name, "attention_backend", ("sdpa", "manual", "other"), baseline="sdpa")
        project.cell(name, "sdpa", 0.042)
        manual = usual.but(attention_backend="manual", inter_op_threads=number + 1)
        project.cell(name, "manual", 0.08 + 0.01 * number, manual)
        project.cell(name, "other", 0.06, manual)
    lines = readme.most_telling(readme.page_of(project.root, "here").measured)
    assert len(lines) == readme.MOST
    assert {line.entry.cell.suite for line in lines} == {f"S{n}" for n in range(4, 12)}
    assert {line.entry.cell.value for line in lines} == {"manual"}
    effects = [line.entry.effect for line in lines]
    assert effects == sorted(effects)


def test_without_a_told_setting_it_says_so(project, clone):
    project.suite("Baseline", "copy", ("A", "B"))
    project.cell("Baseline", "A", 0.042)
    project.save()
    example_files.make(project.root, clone)
    text = (clone / "README.md").read_text()
    assert "No setting was told to be faster or slower." in text and "![" not in text


def test_where_it_was_measured_is_in_none_of_its_files(sweep, clone):
    made = worker(USUAL, [[0.04]], readings={"library": "/home/ada/my/.asv/env/x/libgomp.so"})
    sweep.record("Depth", 4, [made])
    example_files.make(sweep.root, clone)
    pack = packed.read(clone / "example" / "output" / "here" / packed.FILE)
    texts = [*everything(clone / "example").values(), *pack.records.values()]
    assert not any(b"/home/" in text or b"ada" in text.split(b"/") for text in texts)
    assert any(b"/opt/cputrain/.asv/env/x/libgomp.so" in text for text in texts)


def unchanged(clone, source, why, kind=RunError, machine=None):
    before = everything(clone)
    with pytest.raises(kind, match=why) as error:
        example_files.make(source, clone, machine)
    assert everything(clone) == before and "\n" not in str(error.value)


def test_what_cannot_be_leaves_the_earlier_one(sweep, clone, tmp_path_factory, monkeypatch):
    example_files.make(sweep.root, clone)
    unchanged(clone, tmp_path_factory.mktemp("empty"), "run python3 bench.py", UsageError)
    unchanged(clone, sweep.root, "no records of 'other'; there are: here", UsageError, "other")
    told = worker(USUAL, [[0.04]], readings={"library": "/srv/ada/lib.so"})
    path = sweep.record("Depth", 4, [told])
    unchanged(clone, sweep.root, r"results?\S* tells where it was measured: /srv/ada|records.jsonl")
    path.write_text('{"schema": ')
    unchanged(clone, sweep.root, "not JSON.*an example is made of whole records only")
    path.unlink()
    monkeypatch.setattr(example_files, "LARGEST", 10_000)
    unchanged(clone, sweep.root, "the example has 0.. MB, over 0; the most are")
    (clone / "README.md").write_text("# No place\n")
    monkeypatch.undo()
    unchanged(clone, sweep.root, "are needed, once each")


def test_a_quick_run_makes_none(project, clone):
    project.suite("Baseline", "copy", ("A", "B"))
    project.cell("Baseline", "A", 0.042, mode="quick")
    project.save()
    unchanged(clone, project.root, "a full run and no quick one", UsageError)


def test_of_several_machines_one_has_to_be_named(sweep, clone):
    sweep.cell("SeqLen", 256, 0.05, machine="there")
    sweep.save()
    unchanged(clone, sweep.root, "say which with --machine; there are: here, there", UsageError)
    assert example_files.make(sweep.root, clone, "there").machine == "there"
    assert not (clone / "example" / "result" / "here").exists()
    assert not (clone / "example" / "result" / "asv" / "here").exists()


def test_it_stands_beside_ones_own_machine_without_its_rows(sweep, clone):
    example_files.make(sweep.root, clone)
    (clone / "example").rename(sweep.root / "example")
    shutil.rmtree(sweep.root / "result")
    (sweep.root / "output" / "here").rename(sweep.root / "output" / "mine")
    for path in (sweep.root / "output" / "mine").rglob("run.json"):
        path.write_text(path.read_text().replace('"machine": "here"', '"machine": "mine"'))
    summary = export(sweep.root)
    assert {row["machine"] for row in summary.rows} == {"mine"} and summary.problems == []
    (line,) = [line for line in sweep.page().splitlines() if "comes with the project" in line]
    assert line.startswith("| [here](../example/result/here/report.html), example,")
    assert "ms" in line and "tokens/s" in sweep.page()
    assert (sweep.root / "result" / "../example/result/here/report.html").resolve().is_file()
    csv = (sweep.root / "result" / "results.csv").read_text()
    assert "here" not in csv.replace("where", "")


def test_a_machine_of_its_name_is_not_there_twice(sweep, clone):
    example_files.make(sweep.root, clone)
    shutil.copytree(clone / "example", sweep.root / "example")
    export(sweep.root)
    assert "comes with the project" not in sweep.page()
    assert "side by side" not in sweep.page()


def test_it_is_shown_before_anything_was_measured(sweep, clone):
    example_files.make(sweep.root, clone)
    assert export(clone).problems == []
    page = (clone / "result" / "README.md").read_text()
    assert "Nothing was measured yet" in page and "example, comes with the project" in page


@pytest.mark.parametrize("content", ["", "{}", '{"schema":2,"machine":"x"}', '{"machine":"../x"}'])
def test_a_broken_one_is_one_problem_and_the_tables_are_written(sweep, content):
    (sweep.root / "example").mkdir()
    (sweep.root / "example" / example.FILE).write_text(content)
    (problem,) = export(sweep.root).problems
    assert str(problem).startswith("example/example.json: not what this version writes")
    assert "comes with the project" not in sweep.page()


def test_the_verb_takes_a_folder_and_a_machine():
    args = cli.parse(["example", "--from", "/there", "--machine", "m"])
    assert (str(args.source), args.machine) == ("/there", "m")
    assert cli.parse(["example"]).source is None


MAKE = """
import locale, sys
from pathlib import Path
from cputrain.report import example_files
assert locale.getpreferredencoding(False).lower() != "utf-8"
example_files.make(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_letters_of_the_readme_stay_in_a_locale_that_is_not_utf_8(sweep, clone):
    page = clone / "README.md"
    page.write_text(EMPTY + "Gr\xf6\xdfe", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    command = [sys.executable, "-c", MAKE, str(sweep.root), str(clone)]
    done = subprocess.run(command, env=os.environ | plain, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert page.read_text(encoding="utf-8").endswith("Gr\xf6\xdfe")
