"""From the run records to every table, plot and page under result/."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from cputrain.analysis import noise_lines
from cputrain.analysis.claims import judge
from cputrain.analysis.effects import analyse
from cputrain.report import claims, page, plots
from cputrain.report.machine_page import MachinePage
from cputrain.results import asvfiles, engines, machines, records, rows, tables
from cputrain.results.columns import Row
from cputrain.results.records import Problem


@dataclass(frozen=True)
class Summary:
    """What an export made: a row for every cell, what could not be read, what was written."""

    rows: list[Row]
    problems: list[Problem]
    files: list[Path]


def export(root: Path) -> Summary:
    """Write everything for every machine found under root/result and root/output.

    Raises:
        OSError: something under root/result cannot be written.
        RunError: no record can be used, and there are tables of earlier ones.
    """
    result = root / "result"
    pages: list[MachinePage] = []
    files: list[Path] = []
    known, problems = asvfiles.suites(root)
    measured, misnamed = records.machines(root)
    problems += misnamed
    problems += tables.without_records(root, measured)
    every_machine, links = tables.not_links(result, {*measured, *engines.machines(result)})
    problems += links
    for name in every_machine:
        machine, unknown = machines.read(root, name)
        cells, broken = rows.read(root, name)
        problems += unknown + broken
        peaks, low = machines.believable(machine.peaks, cells, result / name / "machine.json")
        problems += low
        analysis = analyse(cells, peaks)
        drawn = plots.draw_all(result / name / "plots", analysis.rows, cells)
        beside, broken = engines.read(result, name)
        problems += broken
        pages.append(
            MachinePage(
                machine, analysis.rows, cells, noise_lines.lines(analysis), drawn, known, beside
            )
        )
        files += drawn.values()
        judged = judge.judge(root, name)
        problems += judged.problems
        if judged.cells:
            files += claims.write(result, name, judged.verdicts)
    every = [row for machine_page in pages for row in machine_page.rows]
    problems = [dataclasses.replace(p, path=_short(p.path, root)) for p in dict.fromkeys(problems)]
    tables.spare(result, every, problems)
    files += tables.write(result, every)
    files.append(page.write(result, pages, problems))
    return Summary(every, problems, files)


def _short(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path
