"""A signal ends what a set-up has started, before the machine is free again."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine import lock

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
