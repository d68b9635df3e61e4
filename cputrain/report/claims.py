"""result/<machine>/claims.md and claims.csv: the verdicts on what others claimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from cputrain import wording
from cputrain.analysis.claims.judge import ClaimVerdict
from cputrain.atomic import write_made
from cputrain.report import templates
from cputrain.results import tables
from cputrain.results.columns import Row

PAGE, TABLE = "claims.md", "claims.csv"
SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("machine", "id", "claim", "published", "verdict"), pl.String()),
    **dict.fromkeys(("quantity", "unit"), pl.String()),
    **dict.fromkeys(("value", "low", "high"), pl.Float64()),
    "further_passes": pl.Int64(),
    **dict.fromkeys(("why", "rule"), pl.String()),
    **dict.fromkeys(("with_fault", "without_fault"), pl.Float64()),
}
"""Columns of the table: a row for each claim.

quantity, unit, value, low, high: what decided, with its interval; unit is x, share, s or nothing.
with_fault, without_fault: of the demonstration, time over its reference's; none of a side that was
disturbed or not run. Of a claim without one the first is reckoned with the first step in the mean,
in the claim's unit, and there is no other.
"""


def write(result: Path, machine: str, verdicts: Sequence[ClaimVerdict]) -> list[Path]:
    """Write both; their paths.

    Raises:
        OSError: one cannot be written, and is as it was before.
    """
    page, table = result / machine / PAGE, result / machine / TABLE
    write_made(page, text(machine, verdicts))
    write_made(table, tables.as_csv(tables.frame([row(machine, v) for v in verdicts], SCHEMA)))
    return [page, table]


def text(machine: str, verdicts: Sequence[ClaimVerdict]) -> str:
    """The page as Markdown."""
    context = {"more": more, "summary": summary(verdicts)}
    return templates.markdown("claims.md.j2", {**context, "machine": machine, "verdicts": verdicts})


def summary(verdicts: Sequence[ClaimVerdict]) -> str:
    """ "9 hold, 12 do not hold, 4 cannot be told here"."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    holding, failing = counts["holds"], counts["does not hold"]
    return (
        f"{holding} {'holds' if holding == 1 else 'hold'}, "
        f"{failing} {'does' if failing == 1 else 'do'} not hold, "
        f"{counts['cannot be told here']} cannot be told here"
    )


def row(machine: str, verdict: ClaimVerdict) -> Row:
    """A claim's row."""
    decided = verdict.decided
    faulty, sides = verdict.demonstrated or verdict.reckoned, verdict.demonstrated
    return {
        "machine": machine,
        "id": verdict.id,
        "claim": verdict.sentence,
        "published": verdict.published,
        "verdict": verdict.verdict,
        "quantity": decided.label if decided else None,
        "unit": decided.unit if decided else None,
        "value": decided.value if decided else None,
        "low": decided.low if decided else None,
        "high": decided.high if decided else None,
        "further_passes": verdict.further_passes,
        "why": verdict.why,
        "rule": verdict.rule,
        "with_fault": faulty[0].value if faulty else None,
        "without_fault": sides[1].value if len(sides) > 1 else None,
    }


def more(verdict: ClaimVerdict) -> str:
    """ "; about 3 more passes tell"."""
    passes = verdict.further_passes
    if passes is None:
        return ""
    return f"; about {wording.counted(passes, 'more pass', 'more passes')} would tell"
