"""What goes on in this process while it trains: who disturbs it, and which threads work."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.knobs import inforce
from cputrain.machine import noise, threads
from cputrain.record.process import Placement

if TYPE_CHECKING:
    from cputrain.data.feed import Feed

COMMUNICATING = ("gloo_", "pt_gloo_")
"""How the names of gloo's threads begin: one that moves bytes, two that sum them."""
DISTURBED_SHARE = 0.05
"""Run-queue delay, or what others used, over wall time from which training counts as disturbed."""

ROUNDING_TICKS = 2
"""Of the kernel, that CPU time by CPU may be off at both ends together."""


class Watch:
    """Looks at this process when made and when asked; both cost about a millisecond.

    Args:
        experiment: says whether its threads are counted exactly.
        placement: CPUs and threads of this process.
        feed: whose threads do not compute.
    """

    def __init__(self, experiment: Experiment, placement: Placement, feed: Feed) -> None:
        system = experiment.system
        self._exactly = any((system.threads, system.cores, system.intra_op_threads))
        self._placement, self._feed = placement, feed
        self._spec = specs.of(experiment.runtime.engine)
        self._worked = threads.cpu_time_by_thread()
        self._noise = noise.read(cpus=placement.cpus)

    def seen(self) -> tuple[dict[str, Any], inforce.Check]:
        """What happened since (`noise.between` and the two below), and who used CPU time.

        disturbed: its threads waited for CPUs that others had, or a quota held it back. More
        threads than CPUs wait for one another, which is the experiment's own doing: there the
        CPU time counts that others had in the mask. Threads that compute also wait while those
        that exchange gradients run.
        lost_share: that time, as a share of the wall time; a quota's, which is summed over CPUs,
            divided by the CPUs of the mask, which it holds back together.
        communication_cpu_s: CPU time of the latter, where there are any.
        """
        placement, now = self._placement, noise.read(cpus=self._placement.cpus)
        since = noise.between(self._noise, now)
        before, after = self._worked, threads.cpu_time_by_thread()
        talking, loading = communicating(), set(self._feed.thread_ids)
        talked_s = sum(ns - before.get(id, 0) for id, ns in after.items() if id in talking) / 1e9
        if talking:
            since["communication_cpu_s"] = talked_s
        computing = {id: ns for id, ns in after.items() if id not in talking | loading}
        busy = self._spec.busy(
            placement.threads, before, computing, since["wall_s"], exactly=self._exactly
        )
        if each_has_a_cpu(self._spec, placement, self._feed):
            lost_s = self._waited_s(now, talking) - talked_s
        else:
            rounding_s = ROUNDING_TICKS * len(placement.cpus) * threads.TICK_NS / 1e9
            lost_s = (since["others_cpu_s"] or 0.0) - rounding_s
        disturbed = lost_s > DISTURBED_SHARE * since["wall_s"]
        throttled_s = (since["throttled_s"] or 0.0) / len(placement.cpus)
        since["disturbed"] = disturbed or throttled_s > 0
        since["lost_share"] = (max(0.0, lost_s) + throttled_s) / since["wall_s"]
        return since, busy

    def _waited_s(self, now: noise.Snapshot, talking: set[int]) -> float:
        """Seconds that threads were ready to run and did not; 0 where the kernel is silent."""
        before, after = self._noise.queued_ns, now.queued_ns
        if isinstance(before, str) or isinstance(after, str):
            return 0.0
        return sum(ns - before.get(id, 0) for id, ns in after.items() if id not in talking) / 1e9


def each_has_a_cpu(spec: specs.Spec[Any], placement: Placement, feed: Feed) -> bool:
    """Whether no thread of a worker has to wait for another one of its own."""
    working = placement.threads + len(set(feed.thread_ids)) + spec.dispatching
    return working <= len(placement.cpus)


def communicating(root: Path = Path("/")) -> set[int]:
    """The threads of this process that exchange gradients, by the kernel's ids."""
    ids = set()
    for task in (root / "proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            if (task / "comm").read_text().startswith(COMMUNICATING):
                ids.add(int(task.name))
    return ids
