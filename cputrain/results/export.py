"""From asv's results and the run records to every table, plot and page under result/."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain.analysis import interval, noise_floor
from cputrain.analysis.interval import Estimate, Measured
from cputrain.experiment import Experiment
from cputrain.report import page, plots
from cputrain.report.page import MachinePage
from cputrain.results import columns, machines, records, rows, tables
from cputrain.results.columns import Row
from cputrain.results.records import Problem
from cputrain.results.rows import Cell


@dataclass(frozen=True)
class Summary:
    """What an export made: a row for every cell, what could not be read, what was written."""

    rows: list[Row]
    problems: list[Problem]
    files: list[Path]


def export(
    root: Path,
    descriptions: Mapping[str, str] | None = None,
    baselines: Mapping[str, str] | None = None,
) -> Summary:
    """Write everything for every machine found under root/result and root/output.

    Args:
        root: the project folder.
        descriptions: what each suite is about, by its name.
        baselines: identity of each suite's baseline experiment, by the suite's name, where it
            is not the experiment of all defaults.

    Raises:
        OSError: something under root/result cannot be written.
    """
    result = root / "result"
    pages: list[MachinePage] = []
    problems: list[Problem] = []
    files: list[Path] = []
    for name in rows.machines(root):
        machine, unknown = machines.read(root, name)
        cells, broken = rows.read(root, name)
        problems += unknown + broken
        found, noise = analyse(cells, machine.peaks, baselines or {})
        drawn = plots.draw_all(result / name / "plots", found, cells, noise)
        pages.append(MachinePage(machine, found, cells, noise, drawn))
        files += drawn.values()
    every = [row for one in pages for row in one.rows]
    problems = [dataclasses.replace(p, path=_short(p.path, root)) for p in problems]
    files += tables.write(result, every)
    files.append(page.write(result, pages, descriptions or {}, problems))
    return Summary(every, problems, files)


def analyse(
    cells: Sequence[Cell], peaks: Mapping[str, float], baselines: Mapping[str, str]
) -> tuple[list[Row], float | None]:
    """The rows of one machine's cells with intervals and effects, and its noise floor."""
    found = [columns.row(cell, dict(peaks)) for cell in cells]
    measured = [index for index, cell in enumerate(cells) if cell.ok and cell.workers]
    replicated = {cells[i].workers[0]["session"] for i in measured if len(cells[i].workers) > 1}
    made = interval.estimates([_measured(cells[i], replicated) for i in measured])
    known: dict[int, Estimate] = dict(zip(measured, made, strict=True))
    noise = noise_floor.floor(
        [row["step_s"] for row in found if row["suite"] == noise_floor.SUITE and row["step_s"]]
    )
    firsts = _baselines(cells, baselines)
    for index, estimate in known.items():
        row = found[index]
        if estimate.interval:
            row |= {"step_s_low": estimate.interval.low, "step_s_high": estimate.interval.high}
        _say(row, estimate.reason)
        base = firsts.get(row["suite"])
        if base is None or base not in known:
            _say(row, "no baseline cell to compare with")
            continue
        row["effect"] = row["step_s"] / found[base]["step_s"]
        if index == base:
            row |= {"effect_low": 1.0, "effect_high": 1.0, "above_noise": False}
            continue
        ratio = interval.effect(estimate, known[base])
        if ratio:
            row |= {"effect_low": ratio.low, "effect_high": ratio.high}
        row["above_noise"] = noise_floor.is_above(ratio, noise)
        if row["session"] != found[base]["session"]:
            _say(row, "not of the baseline's session")
    return found, noise


def _say(row: Row, words: str | None) -> None:
    row["reason"] = "; ".join(filter(None, (row["reason"], words))) or None


def _measured(cell: Cell, replicated: set[str]) -> Measured:
    """A cell's steps, and whose workers are its workers' like.

    Workers of one experiment in one suite take turns in time, in two suites they do not: they
    count as replicates across suites only where each cell has a single worker. Threads that
    take turns on a CPU vary in a way of their own, so they are a pool of their own.
    """
    last = cell.workers[-1]
    session, placement = last["session"], last["placement"]
    suite = cell.suite if session in replicated else None
    crowded = placement["threads"] > len(placement["cpus"])
    return Measured(
        steps=tuple(tuple(records.steps(worker)) for worker in cell.workers),
        like=(session, suite, last["identity"], crowded),
        pool=(session, crowded),
    )


def _baselines(cells: Sequence[Cell], given: Mapping[str, str]) -> dict[str, int]:
    """Index of each suite's baseline cell: the first one that ran its baseline experiment."""
    usual = Experiment().identity
    found: dict[str, int] = {}
    for index, cell in enumerate(cells):
        if cell.ok and cell.workers:
            if cell.workers[-1]["identity"] == given.get(cell.suite, usual):
                found.setdefault(cell.suite, index)
    return found


def _short(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path
