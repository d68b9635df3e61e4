"""The data of a commit's side: made by its code from the working tree's text as it is now."""

import json
import sys

import pytest
from settled import settled

from cputrain import paths
from cputrain.data import corpus
from cputrain.errors import RunError
from cputrain.sweep.releases import commits
from cputrain.sweep.releases.checkout import Checkout

pytestmark = pytest.mark.tools

EXPERIMENTS = [settled(engine="numpy", rows=10)]


@pytest.fixture
def commit(own_root):
    """A commit whose code is that of the working tree."""
    folder = own_root / "commit"
    folder.mkdir()
    for name in ("cputrain", "benchmarks"):
        (folder / name).symlink_to(paths.PROJECT / name)
    return Checkout("A", folder, "a" * 40, [])


def write_text(word):
    """Replace the working tree's text; the fingerprint of the new one."""
    rows = tuple(f"{word} {number}" for number in range(10))
    content = {"source": word, "fingerprint": corpus.fingerprint(rows), "rows": rows}
    paths.DATA.mkdir(exist_ok=True)
    (paths.DATA / corpus.FILE).write_text(json.dumps(content))
    return content["fingerprint"]


def prepare(commit):
    """Its text and its token arrays, once they are made."""
    commits._prepare(commit, sys.executable, EXPERIMENTS, True)
    data = commit.root / "data"
    return (data / corpus.FILE).read_bytes(), list(data.glob("tokens-*.npy"))


def test_a_text_that_was_replaced_replaces_the_commits_data(commit):
    for word in ("first", "second"):
        print_ = write_text(word)
        text, (tokens,) = prepare(commit)
        assert text == (paths.DATA / corpus.FILE).read_bytes()
        assert print_[:12] in tokens.name


def test_a_text_that_is_the_same_leaves_what_was_made_of_it(commit):
    write_text("first")
    _, (tokens,) = prepare(commit)
    made = tokens.stat().st_mtime_ns
    assert prepare(commit)[1][0].stat().st_mtime_ns == made


def test_a_text_that_cannot_be_read_is_one_line(commit):
    write_text("first")
    (paths.DATA / corpus.FILE).write_text("{")
    with pytest.raises(RunError, match=r"--git A: preparing its data: .* is damaged") as caught:
        prepare(commit)
    assert "\n" not in str(caught.value)
