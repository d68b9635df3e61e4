"""Processes that train a run together, in plain lines."""

from __future__ import annotations

from cputrain.experiment import Experiment
from cputrain.model import shares
from cputrain.record.process import Placement
from cputrain.record.trained import TrainRecord
from cputrain.wording import counted


def lines(experiment: Experiment, placed: Placement, before: int | None) -> list[str]:
    """What each process has of a step and of the machine, and that there were others before.

    Args:
        experiment: settled.
        placed: of it.
        before: processes of the stretch that is gone on from; None where the run begins.
    """
    now, lines = experiment.system.processes or 1, []
    if placed.ranks:
        training = shares.of_rank(experiment, now).training
        part = f"{counted(training.batch_size, 'sequence')} of "
        part += counted(training.grad_accum, "micro-batch", "micro-batches")
        cpus = " | ".join(",".join(map(str, mask)) for mask in placed.ranks)
        threads = counted(placed.omp_threads, "thread")
        lines.append(f"{_processes(now)}, each with {part} and {threads}; CPUs {cpus}")
    if before is not None and before != now:
        line = f"{_processes(before)} before, {now} from here on: losses agree to rounding"
        drawn = _drawn(experiment)
        lines.append(
            line if drawn is None else f"{line}, but for {drawn}, which draws other numbers"
        )
    return lines


def mixed(record: TrainRecord) -> str | None:
    """Why no projection is held against a run; None where as many processes trained all of it."""
    if len(record.processes) < 2:
        return None
    numbers = " and by ".join(map(str, record.processes))
    return f"trained by {numbers} processes in turns: there is no projection of that"


def _drawn(experiment: Experiment) -> str | None:
    """What of a step is random."""
    if experiment.model.dropout:
        return "dropout"
    return "the router of its experts" if experiment.model.architecture == "moe" else None


def _processes(count: int) -> str:
    return counted(count, "process", "processes")
