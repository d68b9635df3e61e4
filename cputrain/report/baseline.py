"""What a step of the default experiment takes on a machine, and what that means."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from cputrain.analysis import identical
from cputrain.analysis.by_quota import is_by_quota
from cputrain.analysis.ends import CellRow
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.report import trust, words
from cputrain.report.statements import Statement
from cputrain.results.columns import Row
from cputrain.wording import counted

RUN_STEPS = 10_000
BUSY = 0.5
"""Share of pairs of blocks that were dropped, from which it is said beside the step's time."""
BY_OTHERS = ("others had the CPUs, or they were moved", "who")
BY_QUOTA = ("a CPU quota held threads back", "what to do")
"""What spoilt them, and what the doctor says of it."""
FEWEST_MOMENTS = 5
"""Moments of a run from which its baseline's step time is told by them, with its range."""


def own_rows(cells: Sequence[CellRow]) -> list[Row]:
    """Rows of the default experiment: of the A/A cells, else of all that ran it.

    Those with a disturbed sample count only where there is no other.
    """
    usual = specs.settle(Experiment()).identity
    baselines = [
        (cell.suite, row)
        for cell, row in cells
        if cell.ok and cell.workers and cell.workers[-1].identity == usual
    ]
    rows = [row for suite, row in baselines if suite == identical.SUITE]
    rows = rows or [row for _, row in baselines]
    return [row for row in rows if not row["disturbed_samples"]] or rows


def step_s(cells: Sequence[CellRow]) -> float | None:
    """Seconds per baseline step; None without one.

    The median over the moments of the newest session at which it ran beside another cell, or over
    its own rows where those are few: a machine's speed changes while it is measured.
    """
    return _median_s(_moments(cells), own_rows(cells))


def range_s(cells: Sequence[CellRow]) -> tuple[float, float] | None:
    """The fastest and the slowest of these moments; None where they are few."""
    times = _moments(cells)
    return (min(times), max(times)) if times else None


def _median_s(moments: Sequence[float], rows: Sequence[Row]) -> float | None:
    times = moments or [row["step_s"] for row in rows]
    return statistics.median(times) if times else None


def _moments(cells: Sequence[CellRow]) -> list[float]:
    """Seconds of a baseline step through the newest session; none where they are few."""
    times = [seconds for _, seconds in trust.newest_drift(cells)]
    return times if len(times) >= FEWEST_MOMENTS else []


def statement(cells: Sequence[CellRow]) -> Statement | None:
    """What a step takes, as tokens/s, hours and a share of the peak; None without a number."""
    rows, times = own_rows(cells), _moments(cells)
    seconds = _median_s(times, rows)
    if not rows or seconds is None:
        return None
    base, between = Experiment(), ""
    if times:
        fastest, slowest = words.seconds(min(times)), words.seconds(max(times))
        between = f", {fastest} to {slowest} at {len(times)} moments of the run"
    text = (
        f"A training step of the baseline ({_shape(base)}) takes {words.seconds(seconds)} "
        f"here{between}: "
        f"{words.number(base.training.tokens_per_step / seconds)} tokens/s, "
        f"{words.duration(RUN_STEPS * seconds)} for {words.number(RUN_STEPS)} steps."
    )
    shares = [row["mfu"] * row["step_s"] / seconds for row in rows if row["mfu"] is not None]
    if shares:
        share = words.percent(statistics.median(shares))
        text += f" That is {share} of the fastest fp32 matrix product measured here (MFU)."
    its = trust.verified(cells)
    if its.dropped > BUSY * its.pairs:
        workers = identical.distinct(cell for cell, _ in cells if cell.ok)
        who, says = BY_QUOTA if is_by_quota(workers) else BY_OTHERS
        text += (
            f" During {its.dropped} of {counted(its.pairs, 'pair')} of blocks {who}, which is in"
        )
        text += f" this time: python3 bench.py doctor says {says}."
    return Statement(text, tuple(rows))


def _shape(base: Experiment) -> str:
    """The baseline in the field's words."""
    model, training = base.model, base.training
    return (
        f"n_layer {model.n_layer}, n_embd {model.n_embd}, seq_len {training.seq_len}, batch size "
        f"{training.batch_size}, {training.precision}, {base.runtime.engine}"
    )
