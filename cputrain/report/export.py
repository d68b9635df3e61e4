"""From the run records to every table, plot and page under result/."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

from cputrain.analysis import noise_lines
from cputrain.analysis.effects import analyse
from cputrain.report import answers, forest, html, parts, plots
from cputrain.report import page as readme
from cputrain.report.machine_page import MachinePage
from cputrain.report.statements import Answers
from cputrain.results import asvfiles, engines, machines, records, rows, tables
from cputrain.results import parts as step_parts
from cputrain.results.columns import Row
from cputrain.results.records import Problem


@dataclass(frozen=True)
class Summary:
    """What an export made: a row for every cell, what could not be read, what was written.

    Attributes:
        answers: the first screen of each machine, by its name.
    """

    rows: list[Row]
    problems: list[Problem]
    files: list[Path]
    answers: dict[str, Answers] = field(default_factory=dict)


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
        bars = answers.bars(list(zip(cells, analysis.rows, strict=True)))
        if bars:
            files.append(forest.write(result / name / "plots" / "settings.svg", name, bars))
        beside, broken = engines.read(result, name)
        problems += broken
        pages.append(
            MachinePage(
                machine,
                analysis.rows,
                cells,
                noise_lines.lines(analysis),
                drawn,
                has_picture=bool(bars),
                known=known,
                engines=beside,
            )
        )
        files += drawn.values()
    for name in step_parts.machines(root):
        written, broken = parts.write(root, name)
        files += written
        problems += broken
    every = [row for page in pages for row in page.rows]
    problems = [dataclasses.replace(p, path=_short(p.path, root)) for p in dict.fromkeys(problems)]
    tables.spare(result, every, problems)
    files += tables.write(result, every)
    files += readme.write(result, pages, problems)
    files += [html.write(result, page) for page in pages]
    return Summary(every, problems, files, {page.name: page.answers for page in pages})


def _short(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path
