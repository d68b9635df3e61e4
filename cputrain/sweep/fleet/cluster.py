"""Slurm through submitit, or this machine alone where there is none."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import submitit

from cputrain.errors import RunError
from cputrain.sweep.fleet.node import Task
from cputrain.sweep.fleet.node import name as node_name
from cputrain.sweep.fleet.rank import Rank
from cputrain.wording import one_line

NAME = "cputrain-fleet"
AT_REST = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "CONFIGURING", "SUSPENDED")
ALIVE = ("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING", "STOPPED")


LOG = "controller.log"
"""What submitit's process on this machine says: a traceback, when it is cancelled."""


class State(NamedTuple):
    """What the scheduler says of a task, in its own word; `node` is empty before it has one."""

    word: str
    node: str


def has_slurm() -> bool:
    """Whether jobs can be given to Slurm here."""
    return all(shutil.which(name) for name in ("sbatch", "srun", "squeue"))


class Cluster:
    """Where the tasks run.

    Args:
        folder: of submitit's files, which all nodes see.
        partition: of Slurm; its default one where left out.
        minutes: time for one node's sweep.
    """

    def __init__(self, folder: Path, partition: str | None, minutes: float) -> None:
        self.is_slurm = has_slurm()
        self.folder = folder
        self.jobs: list[submitit.Job[object]] = []
        self.executor = submitit.AutoExecutor(
            folder=folder / "%j", cluster="slurm" if self.is_slurm else "local"
        )
        self.executor.update_parameters(
            name=NAME,
            timeout_min=max(1, round(minutes)),
            slurm_exclusive=True,
            # All CPUs of the node: srun would bind a single task to one of them.
            slurm_srun_args=["--cpu-bind=none"],
            slurm_additional_parameters={"requeue": True, "mem": "0"},
            **({"slurm_partition": partition} if partition else {}),
        )

    def submit(self, tasks: Sequence[Task]) -> list[submitit.Job[object]]:
        """Give them to the scheduler, several as one array.

        Raises:
            RunError: it does not take them.
        """
        try:
            with self._aside(), self.executor.batch():
                self.jobs = [self.executor.submit(task) for task in tasks]
        except (submitit.core.utils.FailedJobError, subprocess.CalledProcessError) as error:
            raise RunError(f"Slurm does not take the tasks: {one_line(error)}") from error
        return self.jobs

    @contextlib.contextmanager
    def _aside(self) -> Iterator[None]:
        """Without Slurm: have the process that is started now write what it says to a file."""
        if self.is_slurm:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        stderr = os.dup(2)
        try:
            with (self.folder / LOG).open("ab") as file:
                os.dup2(file.fileno(), 2)
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)

    def submit_over(self, rank: Rank, nodes: int) -> submitit.Job[object]:
        """One job of several nodes, a task on each; it is not started again by itself.

        Raises:
            RunError: the scheduler does not take it.
        """
        self.executor.update_parameters(
            nodes=nodes,
            tasks_per_node=1,
            slurm_additional_parameters={"no-requeue": True, "mem": "0"},
        )
        try:
            self.jobs = [self.executor.submit(rank)]
        except (submitit.core.utils.FailedJobError, subprocess.CalledProcessError) as error:
            raise RunError(f"Slurm does not take the job: {one_line(error)}") from error
        return self.jobs[0]

    def states(self) -> dict[str, State]:
        """Of each task that the scheduler still knows, by job id.

        By squeue, as sacct needs a data base that not every cluster has.

        Raises:
            RunError: squeue failed.
        """
        if not self.is_slurm:
            return {job.job_id: State(str(job.state), node_name()) for job in self.jobs}
        ids = ",".join(sorted({job.job_id.partition("_")[0] for job in self.jobs}))
        command = ["squeue", "--noheader", "--array", "--states=all", f"--jobs={ids}"]
        done = subprocess.run([*command, "--format=%i|%T|%N"], capture_output=True, text=True)
        if done.returncode and "Invalid job id" not in done.stderr:
            raise RunError(f"squeue failed: {one_line(done.stderr.strip())}")
        lines = [line.strip().split("|") for line in done.stdout.splitlines() if line.strip()]
        return {job: State(word, node) for job, word, node in lines}

    def cancel(self, jobs: Sequence[submitit.Job[object]]) -> None:
        """Have the scheduler forget them."""
        for job in jobs:
            job.cancel(check=False)
