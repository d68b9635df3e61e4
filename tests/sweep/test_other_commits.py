"""asv on other commits than HEAD: whose code is installed, and where their records go."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cputrain import environ, paths
from cputrain.run.session import Session
from cputrain.sweep import checkpoint, installed_code, other_commits

pytestmark = pytest.mark.tools

SHOW = f"import os; print(os.environ.get({environ.ROOT!r}))"


def git(folder, *words):
    options = ("-c", "user.name=x", "-c", "user.email=x@y.z", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(folder), *options, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(own_root, monkeypatch):
    """A repository with two commits, and data."""
    folder = own_root / "project"
    (folder / "cputrain").mkdir(parents=True)
    git(own_root, "init", "-q", str(folder))
    for text in ("one", "two"):
        (folder / "cputrain" / "code.py").write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", text)
    monkeypatch.setattr(paths, "PROJECT", folder)
    paths.DATA.mkdir()
    (paths.DATA / other_commits.TEXT).write_text("{}")
    return folder


def test_head_is_the_working_tree_and_another_commit_is_what_asv_checked_out(project):
    head, earlier = git(project, "rev-parse", "HEAD"), git(project, "rev-parse", "HEAD~1")
    assert installed_code.folder(str(project), "/build", head) == str(project)
    assert installed_code.folder(str(project), "/build", earlier) == "/build"
    assert installed_code.folder("/nowhere", "/build", earlier) == "/nowhere"


@pytest.fixture
def root(project, monkeypatch):
    """The folder that asv's process of a commit is told; "None" is the project's own."""
    monkeypatch.delenv(environ.ROOT)
    working_tree = git(project, "rev-parse", "HEAD")

    def run(self, executable, args, **words):
        command = [executable, *args]
        return subprocess.run(command, capture_output=True, text=True, **words).stdout.strip()

    def told(commit, head=working_tree, is_saved=True):
        env = SimpleNamespace(_global_env_vars={"ASV_COMMIT": commit} if commit else {})
        wrapped = other_commits._wrapped(run, head, is_saved)
        return wrapped(env, sys.executable, ["-c", SHOW])

    return told


def test_processes_of_another_commit_have_a_folder_of_their_own_with_the_same_text(project, root):
    head, earlier = git(project, "rev-parse", "HEAD"), git(project, "rev-parse", "HEAD~1")
    assert root(head) == root(None) == "None"
    assert root(earlier) == str(other_commits.root(earlier))
    assert (other_commits.root(earlier) / "data" / other_commits.TEXT).read_text() == "{}"
    assert root(earlier, head=None) == "None"


def test_what_is_not_saved_has_folders_that_are_neither_heads_nor_another_commits(project, root):
    head, earlier = git(project, "rev-parse", "HEAD"), git(project, "rev-parse", "HEAD~1")
    unsaved = root(head, is_saved=False)
    assert unsaved == root(None, is_saved=False) == root(head, head=None, is_saved=False)
    assert Path(unsaved).parent == paths.STATE / other_commits.UNSAVED
    assert (Path(unsaved) / "data" / other_commits.TEXT).read_text() == "{}"
    others = root(earlier, is_saved=False)
    assert Path(others).parent == paths.STATE / other_commits.UNSAVED and others != unsaved


def test_asv_itself_still_has_what_is_wrapped():
    from asv.environment import Environment, ExistingEnvironment

    before, existing = Environment.run_executable, ExistingEnvironment.run
    try:
        other_commits.apart(is_saved=True, existing_is_saved=False)
        assert Environment.run_executable.__wrapped__ is before
        assert ExistingEnvironment.run.__wrapped__ is existing
        assert "_global_env_vars" in Environment._set_commit_hash.__code__.co_names
    finally:
        Environment.run_executable, ExistingEnvironment.run = before, existing


def test_what_is_not_committed_is_said_of_head(project):
    assert other_commits.dirty() is None
    (project / "cputrain" / "code.py").write_text("three")
    line = other_commits.dirty()
    assert "as the working tree has it, with cputrain/code.py" in line and "\n" not in line


def test_a_sweep_is_another_one_after_each_edit_and_the_same_where_it_is_taken_back(project):
    def wanted():
        return checkpoint.wanted(Session(id="s", run="r", machine="m"), None, [])

    code, new = project / "cputrain" / "code.py", project / "cputrain" / "new.py"
    seen = [wanted()]
    for path, text in ((code, "three"), (code, "four"), (new, "one"), (new, "two")):
        path.write_text(text)
        assert wanted() not in seen
        seen.append(wanted())
    (project / "notes.txt").write_text("decides nothing")
    assert wanted() == seen[-1]
    new.unlink()
    assert wanted() == seen[2]
    code.write_text("two")
    assert wanted() == seen[0]
