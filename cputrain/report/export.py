"""From asv's results and the run records to every table, plot and page under result/."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cputrain.analysis.effects import Baselines, analyse
from cputrain.report import page, plots
from cputrain.report.page import MachinePage
from cputrain.results import engines, machines, rows, tables
from cputrain.results.columns import Row
from cputrain.results.records import Problem


@dataclass(frozen=True)
class Summary:
    """What an export made: a row for every cell, what could not be read, what was written."""

    rows: list[Row]
    problems: list[Problem]
    files: list[Path]


def export(
    root: Path,
    descriptions: Mapping[str, str] | None = None,
    baselines: Baselines | None = None,
) -> Summary:
    """Write everything for every machine found under root/result and root/output.

    Args:
        root: the project folder.
        descriptions: what each suite is about, by its name.
        baselines: identities of each suite's baseline experiments, by the suite's name; cells
            of a suite without a baseline have no effects, and it takes no place in the ranking.

    Raises:
        OSError: something under root/result cannot be written.
    """
    result = root / "result"
    pages: list[MachinePage] = []
    problems: list[Problem] = []
    files: list[Path] = []
    for name in sorted({*rows.machines(root), *engines.machines(result)}):
        machine, unknown = machines.read(root, name)
        cells, broken = rows.read(root, name)
        problems += unknown + broken
        peaks, low = machines.believable(machine.peaks, cells, result / name / "machine.json")
        problems += low
        said = analyse(cells, peaks, baselines or {})
        drawn = plots.draw_all(result / name / "plots", said.rows, cells, said.floors)
        beside, broken = engines.read(result, name)
        problems += broken
        alone = {suite for suite, identity in (baselines or {}).items() if identity is None}
        pages.append(
            MachinePage(machine, said.rows, cells, said.floors, said.pairs, drawn, alone, beside)
        )
        files += drawn.values()
    every = [row for one in pages for row in one.rows]
    problems = [dataclasses.replace(p, path=_short(p.path, root)) for p in problems]
    files += tables.write(result, every)
    files.append(page.write(result, pages, descriptions or {}, problems))
    return Summary(every, problems, files)


def _short(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path
