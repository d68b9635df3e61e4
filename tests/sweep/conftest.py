"""Trial sweeps: the real program, asv and workers, with results and a home of their own."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cputrain import paths

SUITES = '''
"""Trial suites, on NumPy, whose workers start quickly."""

from cputrain.run import suite


def small(base, **changes):
    shape = {"n_layer": 1, "n_embd": 64, "seq_len": 32, "attention_backend": "manual"}
    few = {"steps": 3, "tries": 1, "warm_up_steps": 2}
    return base.but(engine="numpy", **{**shape, **few, **changes})


class First(suite.Suite):
    """Sizes."""

    values = (1, 2)
    name = "batch_size"

    def vary(self, base, value):
        return small(base, batch_size=value)


class Second(suite.Suite):
    """Seeds."""

    values = (1, 2)
    name = "seed"

    def vary(self, base, value):
        return small(base, seed=value)


class Bad(suite.Suite):
    """One value for each way to give no number, and a good one after them."""

    values = ("preload", "slow", "huge", "good")

    def vary(self, base, value):
        if value == "preload":
            return small(base, preload=("/nowhere/lib.so",))
        if value == "slow":
            return small(base, deadline_s=1, steps=10**9)
        if value == "huge":
            return small(base, cores=4096)
        return small(base)
'''


class Trial:
    """One folder for results and home.

    Attributes:
        lock: keeps its sweeps apart, and not from others on this machine.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = folder / "lock"
        self.suites = folder / "benchmarks"
        self.suites.mkdir()
        (self.suites / "__init__.py").write_text("")
        (self.suites / "trial.py").write_text(SUITES)
        self.env = {
            **os.environ,
            "HOME": str(folder),
            "CPUTRAIN_ROOT": str(folder),
            "CPUTRAIN_BENCHMARKS": str(self.suites),
            "PYTHONPATH": str(paths.PROJECT),
            "CPUTRAIN_MEASURE_S": "0",
            "CPUTRAIN_LOCK": str(self.lock),
        }

    def start(
        self, *words: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.STDOUT
    ) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "cputrain.commands.cli", *words],
            cwd=paths.PROJECT,
            env=self.env,
            stdout=stdout,
            stderr=stderr,
            text=True,
        )

    def run(self, *words: str) -> tuple[int, str]:
        process = self.start("run", "--offline", "--passes", "1", *words)
        out, _ = process.communicate(timeout=300)
        return process.returncode, out

    @property
    def output(self) -> Path:
        (machine,) = (self.folder / "output").iterdir()
        return machine

    def record(self, cell: str, file: str = "run.json") -> dict:
        return json.loads((self.output / cell / file).read_text())

    def wait_for(self, pattern: str, process: subprocess.Popen) -> None:
        end = time.monotonic() + 120
        while not list(self.folder.glob(pattern)):
            if late := time.monotonic() > end:
                process.kill()  # what it said ends only then
            assert process.poll() is None and not late, process.stdout.read()
            time.sleep(0.05)

    def wait_for_the_end(self) -> None:
        """Until none of this trial's workers and asv runs."""
        end = time.monotonic() + 60
        while self.processes():
            assert time.monotonic() < end, "they live on"
            time.sleep(0.05)

    def processes(self) -> list[int]:
        """Processes of this trial's workers and asv, wherever they went."""
        wanted = f"CPUTRAIN_ROOT={self.folder}".encode()
        pids = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    if wanted in (folder / "environ").read_bytes().split(b"\0"):
                        pids.append(int(folder.name))
                except OSError:
                    continue
        return pids


@pytest.fixture
def trial(tmp_path):
    return Trial(tmp_path)
