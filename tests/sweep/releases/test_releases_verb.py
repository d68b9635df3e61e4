"""The verb `compare` on commits: the real program, environments and workers."""

import re
import subprocess

import pytest

from cputrain import paths
from cputrain.record import files
from cputrain.record.releases import FILE, FOLDER, SCHEMA, ReleasesRecord

pytestmark = pytest.mark.tools

NUMPY = ("--bench", r"\.Framework\..*'numpy'")


def test_a_commit_beside_the_working_tree(trial):
    trial.env["CPUTRAIN_BENCHMARKS"] = str(paths.BENCHMARKS)
    words = ("--git", "HEAD", "here", *NUMPY, "--budget", "0.3", "--order", "3", "--offline")
    out, _ = (process := trial.start("compare", *words)).communicate(timeout=280)
    assert process.returncode == 0, out
    (path,) = trial.output.glob(f"{FOLDER}/*/{FILE}")
    record = files.read(path, ReleasesRecord, SCHEMA)
    assert (record.status, record.seed) == ("ok", 3)
    head, here = record.sides
    assert head.commit == here.commit and head.dirty == [] and head.installed == here.installed
    first, *_ = record.taken
    assert first.is_identical and first.status == "ok"
    (page,) = trial.folder.glob(f"result/*/{FOLDER}/*.md")
    assert "Framework/numpy" in page.read_text() and "Traceback" not in out
    assert re.search(r"page: result/.*\.md", out)
    (tree,) = (trial.folder / ".asv" / "commits").iterdir()
    remove = ["git", "-C", str(paths.PROJECT), "worktree", "remove", "--force", str(tree)]
    assert subprocess.run(remove).returncode == 0
    assert not trial.processes()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--git", "HEAD", "nonsense"), "no such commit here"),
        (("--git", "HEAD", "HEAD"), "both are the same code"),
        (("--stack", "here"), "beside what"),
        (("--stack", "here", "--stack", "numppy==1"), "did you mean numpy"),
        (("--stack", "here", "--stack", "numpy==1", "--git", "A", "B"), "do not go together"),
        ((), "compare what"),
    ],
)
def test_what_cannot_be_compared_is_one_line_and_status_2(trial, words, named):
    out, _ = (process := trial.start("compare", *words)).communicate(timeout=120)
    assert process.returncode == 2 and named in out and out.count("\n") == 1
