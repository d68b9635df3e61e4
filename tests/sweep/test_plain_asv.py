"""asv called by hand: what a run leaves that it saves nothing of, or that is killed in a cell."""

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


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*.json")}


def test_a_run_that_asv_does_not_save_leaves_records_and_results_as_they_were(trial):
    asv = [sys.executable, "-m", "asv", "--config", str(configuration(trial)), "run"]

    def run(*words):
        command = [*asv, "--bench", "First", "--no-pull", *words]
        done = subprocess.run(command, env=trial.env, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stdout + done.stderr

    run("HEAD^!")
    saved = contents(trial.output), contents(trial.folder / "result")
    assert trial.record("First/1")["workers"][-1]["status"] == "ok"
    python = next((paths.PROJECT / ".asv" / "env").glob("*/bin/python"))
    for words in (["--dry-run", "HEAD^!"], ["--quick", "--environment", f"existing:{python}"]):
        run(*words)
        assert (contents(trial.output), contents(trial.folder / "result")) == saved
    (apart,) = (trial.folder / ".asv" / "asv-unsaved").glob("HEAD/output/*/First/1/run.json")
    workers = json.loads(apart.read_text())["workers"]
    # The proof comes after the last sample, and asv --quick takes one.
    assert [worker["status"] for worker in workers] == ["ok", "unproven"]
