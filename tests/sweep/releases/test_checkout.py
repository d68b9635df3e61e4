"""Commits of a project: those that can be compared, and those that cannot be."""

import shutil
import subprocess

import pytest

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.record.cell import SCHEMA
from cputrain.sweep.releases import checkout
from cputrain.sweep.releases.commits import Commits

pytestmark = pytest.mark.tools

NO_CODE = shutil.ignore_patterns("__pycache__")
ALSO = ("cputrain", "benchmarks", "requirements.txt")


def git(folder, *words):
    options = ("-c", "user.name=x", "-c", "user.email=x@y.z", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(folder), *options, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(own_root, monkeypatch):
    """A repository: before typed records, of another schema, ours, and ours once more."""
    folder = own_root / "project"
    (folder / "cputrain" / "record").mkdir(parents=True)
    monkeypatch.setattr(paths, "PROJECT", folder)
    git(folder, "init", "-q")
    (folder / "requirements.txt").write_text("torch==2.13.0\n")
    _commit(folder, "early")
    (folder / checkout.SCHEMA_FILE).write_text("SCHEMA: Literal[1] = 1\n")
    _commit(folder, "old")
    real = checkout.__file__.partition("cputrain/sweep")[0]
    shutil.rmtree(folder / "cputrain")
    for name in ALSO[:2]:
        shutil.copytree(f"{real}/{name}", folder / name, ignore=NO_CODE)
    _commit(folder, "ours")
    suites = folder / "benchmarks" / "training.py"
    suites.write_text(suites.read_text().replace("(1, 4, 8, 16, 32, 64)", "(1, 2, 8, 16, 32, 64)"))
    _commit(folder, "newer")
    return folder


def _commit(folder, tag):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", tag)
    git(folder, "tag", tag)


@pytest.mark.parametrize(
    ("label", "named"),
    [
        ("nonsense", "no such commit here"),
        ("--help", "no such commit here"),
        ("early", "earlier than typed records"),
        ("old", f"of schema 1 and this version speaks 4 to {SCHEMA}"),
    ],
)
def test_a_commit_that_cannot_be_compared_is_refused_in_one_line(project, label, named):
    with pytest.raises(UsageError, match=named) as caught:
        Commits(["newer", label])
    assert "\n" not in str(caught.value)


def _of_schema(project, schema):
    (project / checkout.SCHEMA_FILE).write_text(f"SCHEMA: Literal[{schema}] = {schema}\n")
    _commit(project, "asked")
    return checkout.checkout("asked")


@pytest.mark.parametrize("schema", range(4, SCHEMA + 1))
def test_a_commit_of_an_earlier_schema_that_says_the_same_is_taken(project, schema):
    assert _of_schema(project, schema).commit == git(project, "rev-parse", "asked")


def test_a_commit_of_a_schema_to_come_is_refused(project):
    with pytest.raises(UsageError, match=f"of schema {SCHEMA + 1} and this version speaks 4 to"):
        _of_schema(project, SCHEMA + 1)


def test_the_same_code_twice_is_refused(project):
    with pytest.raises(UsageError, match="both are the same code"):
        Commits(["newer", "HEAD"])


def test_each_side_has_its_own_code_and_its_own_suites(project, own_root):
    source = Commits(["ours", "newer"])
    ours, other = source.checkouts
    assert ours.project != other.project and ours.project.is_relative_to(own_root / ".asv")
    assert (ours.commit, ours.dirty) == (git(project, "rev-parse", "ours"), [])
    cells, _ = source.choose([r"BatchSize.*\((2|4|8),"])
    assert {cell.name for cell in cells.cells} == {
        f"BatchSize/8-{engine}" for engine in ("torch", "jax", "native")
    }
    assert cells.left_out["BatchSize/4-torch"] == "newer has no such cell"
    assert cells.left_out["BatchSize/2-torch"] == "ours has no such cell"
    again = checkout.checkout("ours")
    assert again == ours
    (ours.project / "requirements.txt").write_text("torch==1.0\n")
    with pytest.raises(UsageError, match="somebody has changed files in"):
        checkout.checkout("ours")
