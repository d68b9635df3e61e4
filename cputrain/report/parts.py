"""result/<machine>/parts.md and parts.csv: where the time of a step goes, from its records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from cputrain import wording
from cputrain.analysis import step_parts
from cputrain.analysis.step_parts import Row
from cputrain.atomic import write_made
from cputrain.report import templates, words
from cputrain.results import machines, parts, tables
from cputrain.results.records import Problem

PAGE, TABLE = "parts.md", "parts.csv"
HEAD = (
    *("part", "time", "share", "calls", "GFLOP", "MB"),
    *("at peak", "at bandwidth", "at dispatch", "limit"),
)
WHAT = {
    "embedding": "embedding",
    "attention": "attention",
    "products": "the blocks' products",
    "head": "head and loss",
    "elementwise": "norms and element-wise",
    "optimizer": "optimizer",
    "data": "data",
    "framework": "framework overhead",
    "other": "other",
}
"""What a part is called on the page."""


def read(root: Path, machine: str) -> tuple[list[Row], list[Problem]]:
    """The rows of a machine (`analysis.step_parts.SCHEMA`), and records that cannot be used."""
    records, problems = parts.read(root, machine)
    if not records:
        return [], problems
    facts, unknown = machines.read(root, machine)
    return step_parts.rows(records, facts), [*problems, *unknown]


def write(result: Path, machine: str, rows: Sequence[Row]) -> list[Path]:
    """Write a machine's page and table; their paths.

    Raises:
        OSError: a file cannot be written; it is as it was before.
    """
    page, table = result / machine / PAGE, result / machine / TABLE
    write_made(page, text(machine, rows))
    write_made(table, tables.as_csv(tables.frame(rows, step_parts.SCHEMA)))
    return [page, table]


def text(machine: str, rows: Sequence[Row]) -> str:
    """The page."""
    context = {"HEAD": HEAD, "texts": texts, "opening": opening, "runs": runs, "largest": largest}
    return templates.markdown("parts.md.j2", {**context, "machine": machine, "rows": rows})


def runs(rows: Sequence[Row]) -> list[tuple[str, str, list[Row]]]:
    """Shape, engine, and the rows of the run, in their order."""
    by_run = groupby(rows, key=lambda row: (row["shape"], row["engine"]))
    return [(str(shape), str(engine), list(group)) for (shape, engine), group in by_run]


def opening(run: Sequence[Row]) -> str:
    """How much of the step the parts add up to, and what watching costs."""
    first = run[0]
    if first["part"] is None:
        return f"{first['status']}: {first['reason']}"
    text = (
        f"A step takes {words.seconds(first['step_s'])} with "
        f"{wording.counted(first['threads'], 'thread')}; its parts add up to "
        f"{words.percent(first['sum_over_step'])} of it"
    )
    if not first["sums_up"]:
        text += f", which is more than {words.percent(first['tolerance'])} off: do not rely on them"
    text += f"; a watched step takes {words.ratio(first['watching'])} as long."
    return text + (" Others held it up meanwhile." if first["disturbed"] else "")


def largest(run: Sequence[Row]) -> str:
    """The parts that take most, in a sentence."""
    most = sorted((row for row in run if row["part"]), key=lambda r: -r["seconds"])[:3]
    named = [f"{WHAT[row['part']]} {words.percent(row['share'])}" for row in most]
    return ", ".join(named)


def texts(row: Row) -> list[str]:
    """A row as text, in the order of `HEAD`."""
    leasts = (row["at_peak_s"], row["at_bandwidth_s"], row["at_dispatch_s"])
    return [
        WHAT[row["part"]],
        words.seconds(row["seconds"]),
        words.percent(row["share"]),
        words.count(row["calls"]) if row["calls"] else "",
        words.number(row["flops"] / 1e9) if row["flops"] else "",
        words.number(row["bytes"] / 1e6) if row["bytes"] else "",
        *(words.seconds(least) if least else "" for least in leasts),
        limit(row),
    ]


def limit(row: Row) -> str:
    """ "products (84 %)": the limit, and the share of the time that it explains."""
    name, share = row["limit"], row["limit_share"]
    if share is None or name == "cache":
        return name or ""
    return f"{name} ({words.percent(share)})" if name != "none" else f"none (< {_below(share)})"


def _below(share: float) -> str:
    """The whole percent above a share."""
    return f"{int(100 * share) + 1} %"
