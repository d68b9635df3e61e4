"""From the run records to every table, plot and page under result/."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from cputrain.analysis import noise_lines
from cputrain.analysis.claims import judge
from cputrain.analysis.effects import analyse
from cputrain.report import answers, claims, example, forest, html, parts, plots
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
    suites, problems = asvfiles.suites(root)
    measured, misnamed = records.machines(root)
    problems += misnamed
    problems += tables.without_records(root, measured)
    found = {*measured, *engines.machines(result), *step_parts.machines(root)}
    names, links = tables.not_links(result, found)
    problems += links
    made = [_machine(root, name, suites) for name in names]
    pages = [page for page, _, _ in made]
    files = [path for _, written, _ in made for path in written]
    problems += [problem for _, _, broken in made for problem in broken]
    every = [row for page in pages for row in page.rows]
    beside, lost = example.read(root)
    problems += lost
    problems = [dataclasses.replace(p, path=_short(p.path, root)) for p in dict.fromkeys(problems)]
    tables.spare(result, every, problems)
    files += tables.write(result, every)
    files += readme.write(result, pages, problems, beside)
    files += [html.write(result, page) for page in pages]
    return Summary(every, problems, files, {page.name: page.answers for page in pages})


def _machine(
    root: Path, name: str, suites: Collection[str]
) -> tuple[MachinePage, list[Path], list[Problem]]:
    """What the page says of one machine; its pictures and further tables, which are written."""
    result = root / "result"
    machine, problems = machines.read(root, name)
    cells, broken = rows.read(root, name)
    peaks, low = machines.believable(machine.peaks, cells, result / name / "machine.json")
    analysis = analyse(cells, peaks)
    drawn = plots.draw_all(result / name / "plots", analysis.rows, cells)
    files = list(drawn.values())
    bars = answers.bars(list(zip(cells, analysis.rows, strict=True)))
    if bars:
        files.append(forest.write(result / name / "plots" / "settings.svg", name, bars))
    beside, unread = engines.read(result, name)
    parts_of_steps, lost = parts.read(root, name)
    judged = judge.judge(root, name)
    page = MachinePage(
        machine,
        analysis.rows,
        cells,
        noise_lines.lines(analysis),
        drawn,
        has_picture=bool(bars),
        known=suites,
        engines=beside,
        parts=parts_of_steps,
        claims=judged.verdicts if judged.cells else [],
    )
    if page.parts:
        files += parts.write(result, name, page.parts)
    if page.claims:
        files += claims.write(result, name, page.claims)
    return page, files, [*problems, *broken, *low, *unread, *lost, *judged.problems]


def _short(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path
