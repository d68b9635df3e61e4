"""An export after an export: what has not changed is not made again, the outcome is the same."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import psutil
import pytest
from made_project import Project, worker
from settled import settled

from cputrain import environ, paths
from cputrain.report import inputs, kept, many
from cputrain.report.export import export
from cputrain.results import tables

pytestmark = pytest.mark.tools

USUAL = settled()


def several(project, count):
    """As many machines, each with its baseline and a setting."""
    project.suite("SeqLen", "seq_len", (128, 256))
    for number in range(count):
        its = {"machine": f"m{number:02}", "reference": 0.04 + number / 1000}
        project.cell("SeqLen", 128, 0.02, USUAL.but(seq_len=128), **its)
        project.cell("SeqLen", 256, its["reference"], **its)
    project.save()
    return project.root


def files_of(root, below="result"):
    """What lies there: content by path, without asv's files."""
    every = (path for path in (root / below).rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): path.read_bytes() for path in every if "asv" not in path.parts
    }


def times(root, machine):
    return {path: path.stat().st_mtime_ns for path in (root / "result" / machine).rglob("*")}


def rerun(project, machine, step_s):
    """Another record in the place of a machine's cell."""
    its = worker(USUAL.but(seq_len=128), [[step_s, step_s]], id="new")
    project.record("SeqLen", 128, [its], machine=machine)


def test_a_machine_that_has_not_changed_is_not_made_again(project):
    root = several(project, 2)
    assert export(root).made == ["m00", "m01"]
    before, content = times(root, "m00"), files_of(root)
    again = export(root)
    assert again.made == [] and times(root, "m00") == before
    assert files_of(root) == content
    assert again.cells == 4 and len(again.rows_of("m01")) == 2 and again.screen("m00")


def test_a_changed_record_makes_its_machine_again_and_no_other(project):
    root = several(project, 2)
    export(root)
    before = times(root, "m01")
    rerun(project, "m00", 0.5)
    again = export(root)
    assert again.made == ["m00"] and times(root, "m01") == before
    steps = {row["value"]: row["step_s"] for row in again.rows_of("m00")}
    assert steps["128"] == 0.5


@pytest.mark.parametrize("name", ["machine.json", "engines.csv"])
def test_what_is_known_of_a_machine_beside_its_records_counts_too(project, name):
    root = several(project, 2)
    export(root)
    (root / "result" / "m00" / name).write_text("{}")
    assert export(root).made == ["m00"]


def test_a_machine_whose_suites_have_other_cells_now_is_made_again(project):
    root, before = several(project, 2), {"m00": {"SeqLen": ["256", "128"]}}
    assert export(root, before).made == ["m00", "m01"]
    assert export(root, before).made == []
    assert export(root, {"m00": {"SeqLen": ["256"]}}).made == ["m00"]


def test_a_page_that_was_deleted_or_changed_is_made_again(project):
    root = several(project, 1)
    export(root)
    content = files_of(root)
    made = [path for path in (root / "result" / "m00").rglob("*") if path.is_file()]
    assert {path.suffix for path in made} == {".csv", ".parquet", ".md", ".svg", ".html"}
    for path in made:
        path.unlink()
        assert export(root).made == ["m00"], path
        path.write_bytes(path.read_bytes().replace(b"e", b"3", 1))
        assert export(root).made == ["m00"], path
    assert files_of(root) == content


def test_pages_of_what_is_no_more_are_deleted_unless_they_were_changed(project):
    root = several(project, 1)
    project.suite("Depth", "n_layer", (2,))
    project.cell("Depth", 2, 0.02, USUAL.but(n_layer=2), machine="m00")
    export(root)
    own = root / "result" / "m00"
    (own / "Depth.md").write_text("mine\n")
    (own / "notes.md").write_text("mine\n")
    shutil.rmtree(root / "output" / "m00" / "Depth")
    export(root)
    assert not (own / "Depth.csv").exists() and not (own / "plots" / "Depth.svg").exists()
    assert (own / "Depth.md").read_text() == (own / "notes.md").read_text() == "mine\n"


def test_another_code_makes_everything_again(project, tmp_path_factory):
    root, clone = several(project, 1), tmp_path_factory.mktemp("clone")
    shutil.copytree(paths.PROJECT / "cputrain", clone / "cputrain")
    program = (
        "import sys; from pathlib import Path; from cputrain.report.export import export; "
        "print(export(Path(sys.argv[1])).made)"
    )

    def made():
        command = [sys.executable, "-c", program, str(root)]
        done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert made() == "['m00']"
    assert made() == "[]"
    changed = clone / "cputrain" / "report" / "suite.md.j2"
    changed.write_text(changed.read_text() + "\n")
    assert made() == "['m00']"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"inputs": 3}', b"\xff\xfe", b"[" * 100_000, None]
)
def test_what_was_kept_and_is_broken_is_made_again(project, content):
    root = several(project, 2)
    first = export(root)
    path = root / ".asv" / kept.FOLDER / "m00.json"
    path.unlink()
    if content is None:
        path.symlink_to(root / ".asv" / kept.FOLDER / "m01.json")
    else:
        path.write_bytes(content)
    again = export(root)
    assert again.made == ["m00"] and again.machines == export(root).machines
    assert again.machines["m00"].line == first.machines["m00"].line


def test_what_another_machine_s_export_kept_says_nothing(project):
    """As after a copy of somebody's whole folder, .asv and all, with other files in it."""
    root = several(project, 2)
    export(root)
    folder = root / ".asv" / kept.FOLDER
    content = files_of(root)
    shutil.copy(folder / "m01.json", folder / "m00.json")
    assert export(root).made == ["m00"] and files_of(root) == content


@pytest.mark.parametrize("name", ["../m01/SeqLen.md", "/{root}/result/m01/SeqLen.md"])
def test_what_was_kept_deletes_nothing_outside_the_machine_s_folder(project, name):
    root = several(project, 2)
    export(root)
    path = root / ".asv" / kept.FOLDER / "m00.json"
    its = json.loads(path.read_text())
    its["made"][name.format(root=root)] = inputs.stamp(root / "result" / "m01" / "SeqLen.md")
    path.write_text(json.dumps(its | {"inputs": "others"}))
    assert export(root).made == ["m00"]
    assert (root / "result" / "m01" / "SeqLen.md").exists()


def test_step_by_step_gives_the_same_bytes_as_at_once(project, tmp_path_factory):
    """Of one, three, four and nine machines, one with a broken record, one with another one."""
    steps = tmp_path_factory.mktemp("steps")
    several(project, 9)
    for name in (f"m{number:02}" for number in range(9)):
        shutil.copytree(project.root / "output" / name, steps / "output" / name)
        if name in ("m00", "m02", "m03", "m08"):
            export(steps)
    growing = Project(steps)
    growing.keys, growing.values = project.keys, project.values
    (steps / "output" / "m01" / "SeqLen" / "128" / "run.json").write_text('{"schema": 4, "ke')
    rerun(growing, "m02", 0.3)
    last = export(steps)
    assert last.made == ["m01", "m02"] and len(last.problems) == 1
    shutil.rmtree(steps / ".asv")
    before = files_of(steps)
    shutil.rmtree(steps / "result")
    at_once = export(steps)
    assert len(at_once.made) == 9 >= many.FEWEST
    assert files_of(steps) == before
    assert "m01/SeqLen/128/run.json: not JSON" in before["result/README.md"].decode()


def test_many_machines_have_a_line_each_and_a_page_of_their_own(project, monkeypatch):
    root = several(project, 5)
    monkeypatch.setattr(tables, "MOST_JOINED", 4)
    for name in ("m03", "m04"):
        (root / "output" / name).rename(root / name)
    export(root)
    assert "## m00" in project.page() and not (root / "result/m00/README.md").exists()
    for name in ("m03", "m04"):
        (root / name).rename(root / "output" / name)
    summary = export(root)
    lines = [line for line in project.page().splitlines() if line.startswith("| [m0")]
    assert len(lines) == 5 and all(" ms |" in line and "2 of 2" in line for line in lines)
    assert "## m00" not in project.page()
    own = project.page_of("README", "m00")
    assert own.startswith("# m00\n") and len(own.splitlines()) <= 150
    assert "](SeqLen.md)" in own and "](../README.md" in own
    assert summary.where == "result/README.md, result/<machine>/results.parquet"
    assert not (root / "result" / "results.csv").exists()
    assert pl.scan_parquet(root / "result" / "*" / "results.parquet").collect().height == 10
    (root / "output" / "m03").rename(root / "m03")
    (root / "output" / "m04").rename(root / "m04")
    export(root)
    assert "## m00" in project.page() and not (root / "result/m00/README.md").exists()
    assert pl.read_csv(root / "result" / "results.csv").height == 6


def test_a_process_that_dies_is_one_line_and_the_next_export_goes_on(project):
    root = several(project, many.FEWEST + 4)
    environment = os.environ | {environ.ROOT: str(root), "PYTHONPATH": str(paths.PROJECT)}
    command = [sys.executable, "-m", "cputrain.commands.cli", "export"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        _kill_a_maker(running.pid, root)
        said = running.communicate(timeout=120)
    assert running.returncode == 1
    assert said[1].count("\n") == 1 and "killed, perhaps for lack of memory" in said[1]
    done = len(list((root / ".asv" / kept.FOLDER).glob("*.json")))
    assert 0 < done < many.FEWEST + 4
    assert len(export(root).made) == many.FEWEST + 4 - done


def _kill_a_maker(parent: int, root: Path) -> None:
    """Kill one of the processes that make pages, once a page is made."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if any((root / ".asv" / kept.FOLDER).glob("*.json")):
            its = psutil.Process(parent).children()
            next(p for p in its if "spawn_main" in " ".join(p.cmdline())).kill()
            return
        time.sleep(0.002)
    raise AssertionError("no page was made")
