"""A signal ends what a set-up has started, before the machine is free again."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine import lock
from cputrain.machine.controls import journal, leftover
from cputrain.sweep import driver, stopping

pytestmark = pytest.mark.tools

# As asv does with pip: a session of the child's own, and a process group of the grandchild's own.
SET_UP = """
import signal, subprocess, sys
from pathlib import Path
from cputrain.machine import lock
from cputrain.sweep import stopping

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run below nohup
stopping.install(stopping.end_all)
held = lock.hold(Path(sys.argv[1]))
sleep = "import os, time; os.setpgid(0, 0); print(os.getpid(), flush=True); time.sleep(600)"
child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {sleep!r}])"
subprocess.run([sys.executable, "-c", child], start_new_session=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_the_set_up_has_started_ends_with_it(tmp_path, number):
    path = tmp_path / "lock"
    process = subprocess.Popen(
        [sys.executable, "-c", SET_UP, str(path)],
        cwd=paths.PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    writing = Path("/proc") / process.stdout.readline().strip() / "stat"
    assert writing.exists()
    with pytest.raises(UsageError, match=f"process {process.pid} in "):
        lock.hold(path)
    process.send_signal(number)
    while process.poll() is None:  # the machine is free only once nothing writes any more
        try:
            lock.hold(path).close()
            break
        except UsageError:
            time.sleep(0.001)
    assert not writing.exists() or writing.read_text().rpartition(")")[2].split()[0] in "ZX"
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (128 + number, "bench.py: stopped\n")


BAR = """
import os, signal, time
from types import SimpleNamespace
from cputrain.sweep import driver, stopping
from cputrain.sweep.progress import Progress

signal.signal(signal.SIGHUP, signal.SIG_DFL)
progress = Progress()
progress._begin([], {"Depth": 60.0})
measurement = SimpleNamespace(progress=progress, stopped=lambda: "cells are kept")
stopping.install(lambda: driver._stopped(measurement))
os.write(2, b"measuring\\n")  # rich has sys.stderr now
time.sleep(600)
"""


def test_a_terminal_that_was_closed_under_a_bar_leaves_line_and_status(tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", BAR],
        cwd=paths.PROJECT,
        env=os.environ | {"TERM": "xterm", "CPUTRAIN_ROOT": str(tmp_path)},
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    assert process.stderr.readline() == "measuring\n"
    os.close(ours)  # from now on what it writes there is EIO
    process.send_signal(signal.SIGHUP)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (129, "bench.py: stopped; cells are kept\n")


@pytest.mark.parametrize(
    "error", [OSError(5, "Input/output error"), RuntimeError("reentrant call")]
)
def test_what_follows_a_bar_that_cannot_be_taken_away_is_done(monkeypatch, tmp_path, capfd, error):
    def close():
        raise error

    (tmp_path / "journal").write_text("")
    monkeypatch.setattr(stopping, "end_children", lambda: None)
    monkeypatch.setattr(journal, "path", lambda: tmp_path / "journal")
    monkeypatch.setattr(leftover, "wait", lambda _: "settings are as they were")
    monkeypatch.setattr(sys, "stderr", None)  # a line of it may be what the signal broke into
    measurement = SimpleNamespace(progress=SimpleNamespace(close=close), stopped=lambda: "kept")
    assert driver._stopped(measurement) == "stopped; kept"
    assert capfd.readouterr().err == "bench.py: settings are as they were\n"
