"""The verb `fleet`: one sweep on each node, and all results here at the end."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.results.exchange import merged, told
from cputrain.sweep import exporting, stopping
from cputrain.sweep.fleet import watch
from cputrain.sweep.fleet.cluster import Cluster
from cputrain.sweep.fleet.node import Task
from cputrain.wording import counted, one_line

FOLDER = "fleet"
"""In .asv/: the nodes' clones, and submitit's files."""


@dataclass(frozen=True)
class Fleet:
    """What was asked.

    Attributes:
        nodes: how many.
        partition: of Slurm; its default one where left out.
        minutes: for one node's set-up and sweep.
        command: what a node runs in its clone.
        back_s: seconds that are waited for a node to take a task again.
    """

    nodes: int
    partition: str | None
    minutes: float
    command: tuple[str, ...]
    back_s: float = watch.BACK_S


def sweep_command(words: Sequence[str]) -> tuple[str, ...]:
    """bench.py of the clone, by the Python that made venv/: all nodes have it at the same place."""
    return (getattr(sys, "_base_executable", sys.executable), "bench.py", "run", *words)


def run(fleet: Fleet, project: Path = paths.PROJECT) -> int:
    """Submit, follow, bring together; 1 where fewer nodes were measured than asked for.

    Raises:
        UsageError: there is no commit.
        RunError: Slurm does not answer.
    """
    here = paths.STATE / FOLDER
    cluster = Cluster(here / "jobs", fleet.partition, fleet.minutes)
    count = fleet.nodes if cluster.is_slurm else 1
    if not cluster.is_slurm:
        say("no Slurm here (no sbatch): one sweep, on this machine")
    name = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%f")
    task = Task(name, project, _commit(project), here / "nodes", fleet.command)
    jobs = cluster.submit([task] * count)
    stopping.install(lambda: _stopped(cluster))
    where = f"Slurm's job {jobs[0].job_id.partition('_')[0]}" if cluster.is_slurm else "here"
    say(f"{counted(count, 'task')}: {where}; files in {here}")
    tasks = watch.follow(cluster, jobs, say, fleet.back_s)
    return _close(tasks, here, fleet.nodes)


def _close(tasks: Sequence[watch.Watched], here: Path, asked: int) -> int:
    """Bring together what is there, also what lost tasks have left; the status.

    Args:
        tasks: each ended or lost.
        here: the fleets' folder.
        asked: how many nodes were to be measured.
    """
    names = {node for task in tasks for node in task.nodes}
    names |= {task.ended.node for task in tasks if task.ended}
    folders = [path for name in sorted(names) if (path := here / "nodes" / name).is_dir()]
    every = merged.merge(paths.ROOT, folders)
    for came in every:
        for line in told.lines(came):
            say(one_line(line))
    if any(came.machine for came in every):
        summary = exporting.export()
        for problem in summary.problems:
            say(f"problem: {one_line(problem)}")
        say(f"tables: {summary.where}")
    measured = [task for task in tasks if task.ended and task.ended.status == 0]
    say(f"{counted(len(measured), 'node')} measured of {asked}")
    return 0 if len(measured) == asked else 1


def _commit(project: Path) -> str:
    """The commit that is checked out; says what is not in it."""
    shown = subprocess.run(
        ["git", "-C", str(project), "rev-parse", "HEAD"], capture_output=True, text=True
    )
    if shown.returncode:
        raise UsageError(f"{project} has no commit: nodes measure clones of it")
    status = ["git", "-C", str(project), "status", "--porcelain", "--untracked-files=no"]
    changed = subprocess.run(status, capture_output=True, text=True).stdout.splitlines()
    if changed:
        say(f"{counted(len(changed), 'changed file')} here: nodes measure the commit without them")
    return shown.stdout.strip()


def _stopped(cluster: Cluster) -> str:
    cluster.cancel(cluster.jobs)
    return "stopped; what the nodes have measured stays in their clones, and the next fleet goes on"


def say(line: str) -> None:
    """One line, at once."""
    print(line, flush=True)
