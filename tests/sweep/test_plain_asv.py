"""asv called by hand: what is left when it is killed in the middle of a cell."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from cputrain import paths

pytestmark = pytest.mark.tools

LONG = '''
"""Without an end."""

from cputrain.run import suite


class Long(suite.Suite):
    """Steps without an end."""

    values = (1, 2)
    name = "seed"

    def vary(self, base, value):
        shape = {"n_layer": 1, "n_embd": 64, "seq_len": 32, "attention_backend": "manual"}
        return base.but(engine="numpy", seed=value, steps=10**9, warm_up_steps=2, **shape)
'''


def configuration(trial):
    """asv's configuration of a trial, beside its suites."""
    settings = json.loads((paths.PROJECT / "asv.conf.json").read_text())
    settings |= {
        "repo": str(paths.PROJECT),
        "env_dir": str(paths.PROJECT / settings["env_dir"]),
        "benchmark_dir": str(trial.suites),
        "results_dir": str(trial.folder / "result" / "asv"),
    }
    settings["install_command"] = [
        command.replace("{conf_dir}", str(paths.PROJECT)) for command in settings["install_command"]
    ]
    path = trial.folder / "asv.conf.json"
    path.write_text(json.dumps(settings))
    return path


def trains(pid):
    """Whether it is a worker that has computed for seconds."""
    try:
        process = psutil.Process(pid)
        return "cputrain.worker.job" in process.cmdline() and process.cpu_times().user > 2
    except psutil.Error:
        return False


def test_a_killed_asv_leaves_nothing_running(trial):
    (trial.suites / "long.py").write_text(LONG)
    command = [sys.executable, "-m", "asv", "--config", str(configuration(trial)), "run"]
    asv = subprocess.Popen(
        [*command, "--bench", "Long", "--no-pull", "HEAD^!"],
        env=trial.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    try:
        end = time.monotonic() + 120
        while not any(map(trains, trial.processes())):
            assert asv.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        asv.kill()
        asv.wait()
        trial.wait_for_the_end()
    finally:
        for pid in trial.processes():
            os.kill(pid, signal.SIGKILL)
