"""The verb `compare` on commits: the real program, environments and workers."""

import re
import signal
import subprocess

import pytest

from cputrain import paths
from cputrain.record import files
from cputrain.record.releases import FILE, FOLDER, SCHEMA, ReleasesRecord

pytestmark = pytest.mark.tools

NUMPY = ("--bench", r"\.Framework\..*'numpy'")


def remove(tree):
    """The work tree that a trial has added to this repository."""
    words = ["git", "-C", str(paths.PROJECT), "worktree", "remove", "--force", str(tree)]
    subprocess.run(words, check=True)


def test_a_commit_beside_the_working_tree(trial):
    trial.env["CPUTRAIN_BENCHMARKS"] = str(paths.BENCHMARKS)
    words = ("--git", "HEAD", "here", *NUMPY, "--budget", "0.2", "--order", "3", "--offline")
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
    remove(tree)
    assert not trial.processes()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--git", "nonsense", "HEAD"), "no such commit here"),
        (("--stack", "here"), "beside what"),
        (("--stack", "here", "--stack", "numppy==1"), "did you mean numpy"),
        (("--stack", "here", "--stack", "numpy==1", "--git", "A", "B"), "do not go together"),
        ((), "compare needs two machines"),
    ],
)
def test_what_cannot_be_compared_is_one_line_and_status_2(trial, words, named):
    out, _ = (process := trial.start("compare", *words)).communicate(timeout=120)
    assert process.returncode == 2 and named in out and out.count("\n") == 1


def test_a_comparison_that_is_stopped_keeps_its_pairs_and_leaves_nobody(trial):
    trial.env["CPUTRAIN_BENCHMARKS"] = str(paths.BENCHMARKS)
    words = ("--git", "HEAD", "here", *NUMPY, "--budget", "9", "--offline")
    process = trial.start("compare", *words)
    trial.wait_for(f"output/*/{FOLDER}/*/{FILE}", process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in out
    assert "of workers is in " in out or "of workers are in " in out
    (path,) = trial.output.glob(f"{FOLDER}/*/{FILE}")
    assert files.read(path, ReleasesRecord, SCHEMA).status == "unproven"
    trial.wait_for_the_end()
    (tree,) = (trial.folder / ".asv" / "commits").iterdir()
    remove(tree)
