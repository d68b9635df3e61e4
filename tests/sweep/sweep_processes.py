"""What a trial sweep left, and its processes."""

import os
import signal
from pathlib import Path

import polars
import psutil


def rows(trial):
    table = polars.read_parquet(trial.folder / "result" / "results.parquet")
    return {(row["suite"], row["value"]): row for row in table.iter_rows(named=True)}


def killed_in_its_second_suite(trial):
    """A sweep of First and Second that is ended by SIGKILL, with all that it had started."""
    process = trial.start("run", "--offline", "--passes", "1", "--bench", "First|Second")
    trial.wait_for("output/*/Second/1/run.json", process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    trial.wait_for_the_end()


def cells_of_asv(trial):
    """asv's own processes of cells, which its server has forked."""
    asv = [pid for pid in trial.processes() if has_words(pid, b"benchmark.py\0run_server\0")]
    return [pid for pid in asv if psutil.Process(pid).ppid() in asv]


def workers_of_a_parent(trial):
    """How many workers there are that a parent has forked."""
    return sum(has_words(pid, b"cputrain.worker.parent") for pid in trial.processes()) - 1


def has_words(pid, *words):
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return all(word in command for word in words)
