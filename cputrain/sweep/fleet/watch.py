"""The tasks of a fleet, from their start until each has ended, one way or another."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import submitit

from cputrain.errors import RunError
from cputrain.record.fleet import NodeEnded
from cputrain.sweep.fleet.cluster import ALIVE, AT_REST, Cluster, State
from cputrain.wording import one_line

POLL_S = 1.0
FORGOTTEN_S = 30.0
"""So long may a task be unknown to the scheduler and have no outcome: its files may come late."""
ATTEMPTS, ATTEMPT_S = 30, 10.0
"""How often, and how far apart, the scheduler is asked that does not answer."""
BACK_S = 600.0
"""So long is waited for tasks that are in the queue again when all others have ended."""


UNKNOWN = State("UNKNOWN", "")


@dataclass
class Watched:
    """One task.

    Attributes:
        number: from 1.
        nodes: that it has run on, the last one last.
        ended: what it left behind.
        lost: why it left nothing.
    """

    number: int
    job: submitit.Job[object]
    state: State = UNKNOWN
    nodes: list[str] = field(default_factory=list)
    ended: NodeEnded | None = None
    lost: str = ""
    unknown_since: float | None = None

    @property
    def is_open(self) -> bool:
        return self.ended is None and not self.lost


def follow(
    cluster: Cluster,
    jobs: Sequence[submitit.Job[object]],
    say: Callable[[str], None],
    back_s: float = BACK_S,
) -> list[Watched]:
    """Say what changes, until every task has ended or is given up.

    Raises:
        RunError: the scheduler has not answered for long.
    """
    tasks = [Watched(number, job) for number, job in enumerate(jobs, 1)]
    queued_since: float | None = None
    while any(task.is_open for task in tasks):
        states = _states(cluster, say)
        for task in tasks:
            if task.is_open:
                _look(task, states, say)
        still = [task for task in tasks if task.is_open]
        if still and all(task.nodes and task.state.word in AT_REST for task in still):
            queued_since = queued_since or time.monotonic()
            if time.monotonic() - queued_since > back_s:
                cluster.cancel([task.job for task in still])
                for task in still:
                    task.lost = f"no node took it again in {back_s:.0f} s"
                    say(f"task {task.number}: {task.lost}")
        else:
            queued_since = None
        time.sleep(POLL_S if any(task.is_open for task in tasks) else 0)
    return tasks


def _states(cluster: Cluster, say: Callable[[str], None]) -> dict[str, State]:
    """What the scheduler says; it is asked again for a while, as it may be starting anew."""
    for attempt in range(ATTEMPTS):
        try:
            return cluster.states()
        except RunError as error:
            if attempt == 0:
                say(f"{error}; asking again")
            time.sleep(ATTEMPT_S)
    raise RunError("Slurm does not answer; its tasks may go on: see squeue, and start fleet again")


def _look(task: Watched, states: dict[str, State], say: Callable[[str], None]) -> None:
    """Take over what is new of one task."""
    if task.job.paths.result_pickle.exists():
        _take_outcome(task, say)
        return
    state = states.get(task.job.job_id, UNKNOWN)
    if state == UNKNOWN:
        task.unknown_since = task.unknown_since or time.monotonic()
        if time.monotonic() - task.unknown_since > FORGOTTEN_S:
            task.lost = "the scheduler has forgotten it, and it left no outcome"
            say(f"task {task.number}: {task.lost}")
        return
    task.unknown_since = None
    if state == task.state:
        return
    before, task.state = task.state, state
    if state.word in ALIVE:
        if state.node and state.node not in task.nodes[-1:]:
            task.nodes.append(state.node)
        if before.word not in ALIVE:
            say(f"task {task.number} runs on {one_line(state.node or 'this machine')}")
    elif state.word in AT_REST and task.nodes:
        if before.word not in AT_REST:
            where = one_line(task.nodes[-1])
            say(f"task {task.number} is in the queue again: {where} died or was taken from it")
    elif state.word not in AT_REST and state.word != "COMPLETED":
        node = one_line(task.nodes[-1] if task.nodes else state.node)
        task.lost = f"{state.word} on {node}" if node else state.word
        say(f"task {task.number}: {task.lost}; the others go on")


def _take_outcome(task: Watched, say: Callable[[str], None]) -> None:
    """What the task returned, or why it did not."""
    error = task.job.exception()
    if error is not None:
        lines = [line for line in str(error).splitlines() if line.strip("- ")]
        telling = [line for line in lines if re.match(r"[\w.]*(Error|Stopped)\b", line)]
        task.lost = one_line((telling or lines)[-1])
        say(f"task {task.number} failed: {task.lost}; see {task.job.paths.stderr}")
        return
    outcome = task.job.result()
    assert isinstance(outcome, NodeEnded)
    task.ended = outcome
    how = "" if outcome.status is None else f", status {outcome.status}"
    say(f"task {task.number} ended on {one_line(outcome.node)}{how}: {outcome.said}")
