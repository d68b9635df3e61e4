"""Files that come in together: all or none of them, wherever the power fails."""

import signal
import subprocess
import sys

import pytest
from made_packs import everything

from cputrain.errors import RunError
from cputrain.results.exchange import journal

pytestmark = pytest.mark.tools

FILES = {"output/m/a.gz": b"new a", "result/m/b.json": b"new b", "result/asv/m/c.json": b"new c"}
OLD = {"output/m/a.gz": b"old a", "output/m/x": b"mine"}
KILLED = """
import os, signal, sys
from pathlib import Path
from cputrain.results.exchange import journal

left = int(sys.argv[2])

def counting(real):
    def call(*words, **named):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*words, **named)
    return call

Path.replace, os.fsync = counting(Path.replace), counting(os.fsync)
Path.unlink = counting(Path.unlink)
journal.put(Path(sys.argv[1]), %r)
"""


@pytest.fixture
def root(tmp_path):
    for path, content in OLD.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    return tmp_path


def test_they_are_put_in_place_and_nothing_is_left_behind(root):
    assert journal.put(root, FILES) == []
    assert everything(root) == OLD | FILES
    assert list((root / ".asv/merge").iterdir()) == []


@pytest.mark.parametrize("at", [0, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
def test_a_kill_at_any_moment_leaves_all_or_nothing_after_the_next_export(root, at):
    command = [sys.executable, "-c", KILLED % FILES, str(root), str(at)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    assert journal.finish(root) == []
    assert everything(root) in (OLD, OLD | FILES)
    assert list((root / ".asv/merge").iterdir()) == []
    assert (everything(root) == OLD) or at > 3


def test_what_was_not_listed_is_thrown_away(root):
    (root / ".asv/merge/x/files").mkdir(parents=True)
    (root / ".asv/merge/x/files/0").write_bytes(b"half")
    assert journal.finish(root) == []
    assert everything(root) == OLD and list((root / ".asv/merge").iterdir()) == []


def test_what_somebody_has_changed_meanwhile_stays(root, monkeypatch):
    real = journal._move

    def late(*words):
        (root / "output/m/a.gz").write_bytes(b"theirs")
        return real(*words)

    monkeypatch.setattr(journal, "_move", late)
    assert journal.put(root, FILES) == [
        "output/m/a.gz was changed while it was merged; what is here stays"
    ]
    assert everything(root) == OLD | FILES | {"output/m/a.gz": b"theirs"}


@pytest.mark.parametrize("link", ["output/m", "result", "result/m/b.json"])
def test_a_link_on_the_way_is_not_followed(root, tmp_path_factory, link):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    path = root / link
    if path.exists():
        path.rename(elsewhere / "old")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(elsewhere)
    before = everything(elsewhere)
    with pytest.raises(RunError, match="is a symbolic link, which is not written to"):
        journal.put(root, FILES)
    assert everything(elsewhere) == before and list((root / ".asv/merge").iterdir()) == []
