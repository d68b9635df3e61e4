"""The first screen: what a machine's rows answer, by rules, each with the rows that it is from."""

from __future__ import annotations

from collections.abc import Sequence

from cputrain.analysis import by_engine, identical
from cputrain.analysis.ends import CellRow, Measured, is_confirmed, measured
from cputrain.analysis.open_cells import Declared, Key, is_there
from cputrain.analysis.paired.planning import Candidate
from cputrain.analysis.unchanged import Setting, settings
from cputrain.experiment import Experiment
from cputrain.report import baseline, not_told, paste, words
from cputrain.report.forest import Bar
from cputrain.report.statements import Answers, StatedChange, Statement
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult
from cputrain.wording import counted

MOST_CHANGES = 5
ALIKE_WITHIN, ALIKE_ABOUT = 1.02, 1.03
"""Ratios that the list of what does not matter is about: the first is said first."""


def answers(
    cells: Sequence[CellRow],
    candidates: Sequence[Candidate[Key]] = (),
    declared: Declared | None = None,
) -> Answers:
    """What the cells of one machine answer.

    Args:
        cells: all of them.
        candidates: those that may get another pass.
        declared: see `is_there`; what is not is said neither to be open nor to lack a number.
    """
    its = declared or {}
    there = [(cell, row) for cell, row in cells if is_there((cell.suite, cell.value), its)]
    planned = [known for known in candidates if is_there(known.key, its)]
    tried = settings(cells)
    changes = _changes(tried)
    return Answers(
        baseline=baseline.statement(cells),
        changes=changes,
        none_pays=None if changes else _none_pays(tried),
        slower=_slower(tried),
        alike=_alike(tried),
        open=not_told.statement(there, planned),
        lost=_lost(there),
        not_run=_not_run(cells),
    )


def bars(cells: Sequence[CellRow]) -> list[Bar]:
    """The picture's: settings beside the default experiment that have an interval."""
    drawn = []
    for tried in settings(cells):
        entry = measured(tried.cell, tried.row)
        if entry is not None and entry.low and entry.high and tried.is_of_default:
            label = f"{by_engine.variable(tried.cell)} {by_engine.setting(tried.cell)}"
            verdict = tried.row["verdict"] or ""
            drawn.append(Bar(label, entry.effect, entry.low, entry.high, verdict))
    return drawn


def _changes(tried: Sequence[Setting]) -> tuple[StatedChange, ...]:
    """The surest of each suite beside the default experiment, then the surest of all.

    "Surest" is by the end of the interval nearest to 1: what it brings at least.
    """
    best: dict[str, StatedChange] = {}
    known = [(its, entry) for its in tried if (entry := measured(its.cell, its.row)) is not None]
    among: dict[str, list[Measured]] = {}
    for setting, entry in known:
        if setting.is_of_default:
            among.setdefault(setting.cell.suite, []).append(entry)
    for setting, entry in known:
        cell, base = setting.cell, setting.base
        if setting.row["verdict"] != "faster" or not setting.is_of_default:
            continue
        confirmed = is_confirmed(entry, among[cell.suite])
        name = (
            f"{by_engine.variable(cell)}: {by_engine.setting(cell)} "
            f"instead of {by_engine.setting(base)}"
        )
        lines = tuple(paste.lines(cell.experiment, base.experiment, _mask(cell)))
        change = StatedChange(name, lines, entry, confirmed)
        if cell.suite not in best or _high(change) < _high(best[cell.suite]):
            best[cell.suite] = change
    distinct = {change.entry.cell.workers[-1].identity: change for change in best.values()}
    return tuple(sorted(distinct.values(), key=_high)[:MOST_CHANGES])


def _mask(cell: CellResult) -> tuple[int, ...]:
    """The CPUs that its newest worker ran on."""
    placement = cell.workers[-1].placement
    return () if placement is None else placement.cpus


def _high(change: StatedChange) -> float:
    high = change.entry.high
    return 1.0 if high is None else high


def _none_pays(tried: Sequence[Setting]) -> Statement | None:
    rows = tuple(setting.row for setting in tried if setting.row["verdict"] is not None)
    if not rows:
        return None
    text = f"Of {counted(len(rows), 'setting')} of the same work none was told to be faster."
    return Statement(text, rows)


def _slower(tried: Sequence[Setting]) -> Statement | None:
    """The surest of each suite beside the default experiment, then the surest of all.

    "Surest" is by the lower end of the interval: what it costs at least.
    """
    worst: dict[str, tuple[float, str, Row]] = {}
    for setting in tried:
        entry = measured(setting.cell, setting.row)
        if entry is None or setting.row["verdict"] != "slower" or not setting.is_of_default:
            continue
        low = entry.low or 1.0
        text = f"{_short(setting)}: {words.effect(entry.effect, entry.low, entry.high)}"
        suite = setting.cell.suite
        if suite not in worst or low > worst[suite][0]:
            worst[suite] = low, text, setting.row
    most = sorted(worst.values(), key=lambda each: -each[0])[:MOST_CHANGES]
    if not most:
        return None
    listed = ", ".join(text for _, text, _ in most)
    return Statement(f"Slows it down here: {listed}.", tuple(row for *_, row in most))


def _alike(tried: Sequence[Setting]) -> Statement | None:
    """Settings that are the same time as their baseline, by two one-sided tests."""
    parts: list[str] = []
    rows: list[Row] = []
    below = 1.0
    for bound in (ALIKE_WITHIN, ALIKE_ABOUT):
        its = [
            setting
            for setting in tried
            if setting.row["verdict"] == "same" and below < setting.row["same_within"] <= bound
        ]
        if its:
            names = ", ".join(map(_short, its))
            parts.append(f"within {words.percent(bound - 1)}: {names}")
            rows += [setting.row for setting in its]
        below = bound
    if not rows:
        return None
    return Statement(f"Makes no difference here, {'; '.join(parts)}.", tuple(rows))


def _short(setting: Setting) -> str:
    """ "pinning close", on another engine than the usual one "pinning close on native"."""
    cell, engine = setting.cell, identical.engine(setting.cell)
    varied = by_engine.engine(cell) is not None
    where = f" on {engine}" if varied and engine != Experiment().runtime.engine else ""
    return f"{by_engine.variable(cell)} {by_engine.setting(cell)}{where}"


def _lost(cells: Sequence[CellRow]) -> Statement | None:
    rows = tuple(row for _, row in cells if row["status"] not in ("ok", "skipped") and row["mode"])
    if not rows:
        return None
    names = ", ".join(f"{row['suite']} {row['value']}" for row in rows[:MOST_CHANGES])
    more = f" and {len(rows) - MOST_CHANGES} more" if len(rows) > MOST_CHANGES else ""
    return Statement(f"Gave no number: {names}{more}; the tables say why.", rows)


def _not_run(cells: Sequence[CellRow]) -> Statement | None:
    rows = tuple(row for _, row in cells if row["status"] == "skipped")
    if not rows:
        return None
    return Statement(
        f"Not possible here: {counted(len(rows), 'cell')}, each with its reason.", rows
    )
