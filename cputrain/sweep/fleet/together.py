"""The verb `fleet --train`: one experiment, trained by processes on several nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cputrain import paths
from cputrain.errors import RunError, UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.record import files
from cputrain.record.answers import Report
from cputrain.record.cell import SCHEMA
from cputrain.sweep import stopping
from cputrain.sweep.fleet import watch
from cputrain.sweep.fleet.cluster import Cluster
from cputrain.sweep.fleet.rank import Rank
from cputrain.wording import counted, one_line


def train(rank: Rank, cluster: Cluster, nodes: int, say: Callable[[str], None]) -> int:
    """Submit one job over all nodes, follow it, say what its report says; 1 where it failed.

    Raises:
        UsageError: there is no Slurm.
        RunError: Slurm does not take it.
    """
    if not cluster.is_slurm:
        raise UsageError("training over several nodes needs Slurm, and there is no sbatch here")
    rank.out.unlink(missing_ok=True)
    job = cluster.submit_over(rank, nodes)
    stopping.install(lambda: _stopped(cluster))
    say(f"{counted(nodes, 'node')}: Slurm's job {job.job_id}; said in {rank.out}.*.log")
    tasks = watch.follow(cluster, [job.task(number) for number in range(nodes)], say)
    if any(task.ended is None or task.ended.status for task in tasks):
        return 1
    try:
        report = files.read(rank.out, Report, SCHEMA)
    except (OSError, files.RecordError) as error:
        raise RunError(f"{rank.out}: rank 0 left no report: {one_line(error)}") from error
    say(f"{one_line(report.label)}; report: {rank.out}")
    return 0


def processes(experiment: Path, nodes: int) -> int:
    """How many of an experiment's processes each node has.

    Raises:
        UsageError: the file is no experiment, or they cannot be shared out.
    """
    try:
        whole = Experiment.from_json(json.loads(experiment.read_text())).system.processes
    except OSError as error:
        raise UsageError(f"{experiment}: {error.strerror or one_line(error)}") from error
    except (ValueError, ExperimentError) as error:
        raise UsageError(f"{experiment}: {one_line(error)}") from error
    if not whole or whole % nodes:
        raise UsageError(
            f"{experiment}: system.processes is {whole}, which {nodes} nodes cannot share out"
        )
    return whole // nodes


def folder() -> Path:
    """Of submitit's files."""
    return paths.STATE / "fleet" / "jobs"


def _stopped(cluster: Cluster) -> str:
    cluster.cancel(cluster.jobs)
    return "stopped; its job was cancelled"
