"""Engines side by side: one machine's table as text for the page and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from cputrain import wording
from cputrain.report import words
from cputrain.results.columns import Row
from cputrain.run.names import FIRST

HEAD = (
    *("threads", "engine", "step", "over torch [99 %]", "verdict", "first step", "import"),
    *("memory", "GFLOP/s (mfu)", "tokens/s", "note"),
)
BRIEF = ("threads", "engine", "step", "over torch [99 %]", "verdict")
"""What a terminal of 80 columns is wide enough for."""
TOLD = ("faster", "slower")
LONGEST_REASON = 200
COMMIT_DIGITS = 10


def shapes(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """The rows of each shape, by its suite's name, in their order."""
    return [(str(name), list(group)) for name, group in groupby(rows, key=lambda row: row["suite"])]


def opening(rows: Sequence[Row]) -> str:
    """What kind of run it was, and how far apart two cells of the same were in it."""
    ran = [row for row in rows if row["workers"]]
    if not ran:
        return "No engine gave a number."
    rounds, first = max(row["workers"] for row in ran), ran[0]
    text = f"{wording.counted(rounds, 'round')} of fresh workers beside {FIRST}"
    text += f", in an order shuffled by seed {first['seed']}"
    text += f", at commit {first['commit'][:COMMIT_DIGITS]}" if first["commit"] else ""
    text += f", on {first['started'][:10]}" if first["started"] else ""
    beside_itself = (row for row in ran if row["value"] == FIRST and row["pairs"])
    apart = [row["over_torch"] for row in beside_itself if row["over_torch"]]
    if apart:
        most = max(max(ratio, 1 / ratio) - 1 for ratio in apart)
        text += f". Two workers of {FIRST} lie up to {words.percent(most)} apart"
    return text + (" (quick)." if first["mode"] == "quick" else ".")


def texts(row: Row) -> tuple[str, ...]:
    """A row as plain text, in the order of `HEAD`."""
    shown = row if row["status"] == "ok" else dict.fromkeys(row)
    return (
        _text(words.count, row["compute_threads"]),
        row["value"],
        _text(words.seconds, shown["step_s"]),
        _ratio(shown),
        words.told(shown),
        _text(words.seconds, shown["first_step_s"]),
        _text(words.seconds, shown["import_s"]),
        _text(words.size, shown["peak_rss_bytes"]),
        "" if shown["gflop_per_s"] is None else words.rate(shown["gflop_per_s"], shown["mfu"]),
        _text(words.number, shown["tokens_per_s"]),
        _note(row),
    )


def brief(row: Row) -> tuple[str, ...]:
    """A row that is ok as plain text, in the order of `BRIEF`."""
    return (
        _text(words.count, row["compute_threads"]),
        row["value"],
        _text(words.seconds, row["step_s"]),
        _ratio(row),
        row["verdict"] or "",
    )


def markdown(row: Row) -> list[str]:
    """The same for a Markdown table; a ratio that is told from 1 is bold."""
    cells = list(texts(row))
    for name in ("engine", "verdict", "note"):  # all others are numbers
        cells[HEAD.index(name)] = wording.markdown(cells[HEAD.index(name)])
    if row["verdict"] in TOLD:
        place = HEAD.index("over torch [99 %]")
        cells[place] = f"**{cells[place]}**"
    return cells


def _ratio(row: Row) -> str:
    ratio, ends = row["over_torch"], (row["over_torch_low"], row["over_torch_high"])
    if ends == (1.0, 1.0):
        return "1"
    return words.ratio(ratio, *ends) if ratio else ""


def _text(show: Callable[[float], str], value: float | None) -> str:
    return "" if value is None else show(value)


def _note(row: Row) -> str:
    reason = row["reason"] or ""
    if len(reason) > LONGEST_REASON:
        reason = reason[: LONGEST_REASON - 3] + "..."
    notes = [reason if row["status"] == "ok" else f"{row['status']}: {reason}"]
    if row["status"] == "ok" and row["dropped_pairs"]:
        pairs = wording.counted((row["pairs"] or 0) + row["dropped_pairs"], "pair")
        notes.append(f"{row['dropped_pairs']} of {pairs} dropped")
    return "; ".join(filter(None, notes))
