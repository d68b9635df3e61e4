"""What the verb `claims` prints: a line for each pair and demonstration, the table of verdicts."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from rich.table import Table

from cputrain.analysis.claims.claim import Claim, ClaimPair, Demonstration
from cputrain.analysis.claims.judge import ClaimVerdict
from cputrain.record.altered import Altered, Side
from cputrain.record.worker import WorkerRecord
from cputrain.sweep.console import minutes, seconds, shown
from cputrain.sweep.progress import Progress


class ClaimsPrinter:
    """Prints a run.

    Args:
        progress: where to; counts what failed.
    """

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def pair(self, pair: ClaimPair, worker: WorkerRecord | str, left_s: float) -> None:
        """A pass of a pair ended."""
        head = f"  {pair.beside}: {pair.change}"
        if isinstance(worker, str) or not worker.ok:
            why = worker if isinstance(worker, str) else f"{worker.status}: {worker.reason}"
            self.progress.failed += isinstance(worker, str) or worker.status != "skipped"
            self.progress.say(f"{head}  {why}")
            return
        ratio = worker.paired_ratio
        over = "every pair was disturbed" if ratio is None else f"{ratio:.2f}x"
        step = seconds(statistics.median(worker.step_s))
        self.progress.say(f"{head}  {step} a step  {over}  {minutes(max(0.0, left_s))} left")

    def demonstration(self, claim: Claim, what: Demonstration, record: Altered | str) -> None:
        """A demonstration ended."""
        head = f"  {claim.id}, {'with the fault' if what.is_fault else 'altered'} {what.name}"
        if isinstance(record, str) or record.status != "ok":
            why = record if isinstance(record, str) else f"{record.status}: {record.reason}"
            self.progress.failed += isinstance(record, str) or record.status != "skipped"
            self.progress.say(f"{head}  {why}")
            return
        altered_s, reference_s = _median_s(record.altered), _median_s(record.reference)
        plain = (
            ""
            if record.plain is None
            else f", without {_median_s(record.plain) / reference_s:.2f}x"
        )
        self.progress.say(f"{head}  {altered_s / reference_s:.2f}x{plain}")

    def verdicts(self, verdicts: Sequence[ClaimVerdict]) -> None:
        """The table."""
        table = Table(title="claims", title_justify="left")
        for name in ("id", "claim", "published", "verdict", "why"):
            table.add_column(name)
        for verdict in verdicts:
            words = (verdict.id, verdict.sentence, verdict.published, verdict.verdict, verdict.why)
            table.add_row(*map(shown, words))
        self.progress.console.print(table)


def _median_s(side: Side) -> float:
    return statistics.median(statistics.median(block) for block in side.blocks)
