"""asv's fork server waits for the process of a cell, and takes no CPU from its worker meanwhile."""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cputrain import environ
from cputrain.machine import processes

pytest.importorskip("asv_runner")

SERVER = "import sys\nfrom asv_runner.server import _run_server\n_run_server(sys.argv[2:])"
SUITES = """
import time
from cputrain.run import suite

class Sleeps:
    def track_s(self):
        time.sleep(1.0)
        return 1.0
    track_s.timeout = 1800.0
"""


@pytest.fixture
def server(tmp_path):
    """asv's server, which has imported a benchmark of a second; it takes commands."""
    suites = tmp_path / "benchmarks"
    suites.mkdir()
    (suites / "__init__.py").write_text("")
    (suites / "sleeps.py").write_text(SUITES)
    path = tmp_path / "socket"
    env = {name: word for name, word in os.environ.items() if name != environ.SESSION}
    env["PYTHONPATH"] = os.pathsep.join(sys.path)
    words = [sys.executable, "-c", SERVER, "run_server", str(suites), str(path)]
    process = subprocess.Popen(words, env=env)
    end = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)

    def ask(**command):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(path))
            text = json.dumps(command).encode()
            line.sendall(struct.pack("<Q", len(text)) + text)
            (size,) = struct.unpack("<Q", line.recv(8, socket.MSG_WAITALL))
            return json.loads(line.recv(size, socket.MSG_WAITALL))

    assert ask(action="preimport") == ""
    yield process.pid, ask
    process.kill()
    process.wait()


def woken(pid):
    """How often a process went to sleep and was woken again."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def run(ask, folder, timeout):
    return ask(
        action="run",
        benchmark_id="sleeps.Sleeps.track_s",
        params_str="{}",
        profile_path="None",
        result_file=str(folder / "result"),
        timeout=timeout,
        cwd=str(folder),
    )


def test_it_is_woken_a_few_times_while_a_cell_runs_for_a_second(server, tmp_path):
    pid, ask = server
    before = woken(pid)
    told = run(ask, tmp_path, 60)
    assert told["errcode"] == 0, told["out"]
    assert json.loads((tmp_path / "result").read_text()) == 1.0
    assert woken(pid) - before < 100  # asv's own way: 900 and more


def test_it_ends_a_cell_at_asv_s_timeout_all_the_same(server, tmp_path):
    _, ask = server
    assert run(ask, tmp_path, 0.1)["errcode"] == -256


def test_the_end_of_a_wait_is_the_end_of_the_process():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    processes.wait(child.pid, 0.01)
    assert child.poll() is None
    child.stdin.close()
    processes.wait(child.pid, 60)
    assert not processes.lives(child.pid)
    child.wait()
    processes.wait(child.pid, 60)  # who is gone is not waited for
