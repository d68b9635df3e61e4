import errno
import os
import signal
import subprocess
import sys

import pytest
from faulty_files import Faulty

from cputrain import atomic


def test_writing_replaces_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "new" / "file.json"
    atomic.write_json(path, {"a": 1})
    atomic.write_json(path, {"a": 2})
    assert path.read_text() == '{\n "a": 2\n}\n'
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.json"
    atomic.write_json(path, [1])
    with pytest.raises(ValueError):
        atomic.write_json(path, float("nan"))
    with pytest.raises(TypeError):
        atomic.write_json(path, object())
    assert path.read_text() == "[\n 1\n]\n"
    assert list(tmp_path.iterdir()) == [path]


WRITE_FOR_EVER = """
import sys
from pathlib import Path
from cputrain.atomic import write_bytes
print("writing", flush=True)
n = 0
while True:
    n = (n + 1) % 256
    write_bytes(Path(sys.argv[1]), bytes([n]) * 300_000)
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "file"
    for _ in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITE_FOR_EVER, str(path)], stdout=subprocess.PIPE
        )
        writer.stdout.readline()
        while not path.exists():
            pass
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        data = path.read_bytes()
        assert len(data) == 300_000 and len(set(data)) == 1


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path):
    path, other = tmp_path / "file", tmp_path / "other.tmp"
    other.write_text("somebody's own")
    while not list(tmp_path.glob(".file.*")):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITE_FOR_EVER, str(path)], stdout=subprocess.PIPE
        )
        writer.stdout.readline()
        while not list(tmp_path.glob(".file.*")):
            pass
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    atomic.remove_left(tmp_path)
    assert {*tmp_path.iterdir()} <= {path, other} and other.exists()
    atomic.remove_left(tmp_path / "nowhere")


def test_an_error_names_the_file(tmp_path):
    """A disk that is full says so when it is written to, which names no file."""
    faulty = Faulty(tmp_path / "shim", tmp_path)
    write = (
        "from pathlib import Path; from cputrain import atomic; atomic.write_text(Path({!r}), 'x')"
    )
    for number in range(1, 5):
        done = subprocess.run(
            [sys.executable, "-c", write.format(str(tmp_path / "file"))],
            env=os.environ | faulty.failing(number, errno.ENOSPC),
            capture_output=True,
            text=True,
        )
        last = done.stderr.splitlines()[-1]
        assert "No space left on device" in last and str(tmp_path) in last, number


@pytest.mark.parametrize("name", ["folder", "x" * 250])
def test_an_error_names_no_temporary_file(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as caught:
        atomic.write_text(tmp_path / name, "x")
    assert str(tmp_path / name) in str(caught.value) and ".tmp" not in str(caught.value)
