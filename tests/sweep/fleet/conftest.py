"""A project to be measured, and fleets of it: the real verb, with a stand-in for bench.py."""

import os
import subprocess
import sys
import threading
import time

import pytest
import slurm

from cputrain import environ, paths

sys.path.append(str(paths.PROJECT / "tests" / "results"))  # made_project

from made_project import Project

VERB = """
import sys
from pathlib import Path
from cputrain.sweep.fleet import verb
nodes, partition, back_s, *command = sys.argv[1:]
fleet = verb.Fleet(int(nodes), partition or None, 10, tuple(command), float(back_s))
sys.exit(verb.run(fleet, Path("project").resolve()))
"""


class Running:
    """A fleet that was started in a folder; `said` grows."""

    def __init__(self, folder, env, script, nodes, partition, back_s):
        self.said = []
        self.process = subprocess.Popen(
            [sys.executable, "-c", VERB, str(nodes), partition, str(back_s), "bash", "-c", script],
            cwd=folder,
            env={**env, environ.ROOT: str(folder), "PYTHONPATH": str(paths.PROJECT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        self.said.extend(line.rstrip("\n") for line in iter(self.process.stdout.readline, ""))

    def wait_for(self, words, patience_s=120):
        end = time.monotonic() + patience_s
        while not any(words in line for line in self.said):
            assert self.process.poll() is None and time.monotonic() < end, self.said
            time.sleep(0.1)

    def end(self, patience_s=200):
        """Its status and what it has said."""
        status = self.process.wait(patience_s)
        time.sleep(0.2)
        return status, "\n".join(self.said)


@pytest.fixture
def fleet(tmp_path):
    """Starts a fleet of a project with one commit, in a folder of its own."""
    project = tmp_path / "project"
    who = ["git", "-C", str(project), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    subprocess.run([*who, "commit", "--quiet", "--allow-empty", "-m", "one"], check=True)
    for node in ("n1", "n2", "alone"):
        prepared = Project(tmp_path / "prepared" / node)
        prepared.suite("SeqLen", "seq_len", (128, 256))
        prepared.cell("SeqLen", 256, 0.042, machine=node)
        prepared.save()
    started = []

    def start(script, env, nodes=2, partition="", back_s=30):
        started.append(Running(tmp_path, env, script, nodes, partition, back_s))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    if reason := slurm.missing():
        pytest.skip(reason)
    made = slurm.Slurm(tmp_path_factory.mktemp("slurm"))
    yield made
    made.close()


@pytest.fixture
def alone(tmp_path_factory):
    """The environment of a machine without Slurm's commands."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("bash", "git", "cp", "sleep", "cat", "env"):
        (folder / name).symlink_to(f"/usr/bin/{name}")
    return {**os.environ, "PATH": str(folder)}
