"""One machine's export: from its records to its tables, pictures, pages and report."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from cputrain import paths
from cputrain.analysis import noise_lines, open_cells
from cputrain.analysis.claims import judge
from cputrain.analysis.effects import analyse
from cputrain.analysis.open_cells import Declared
from cputrain.report import (
    claims,
    comparisons,
    costs,
    first_screen,
    forest,
    html,
    inputs,
    kept,
    other_commits,
    parts,
    plots,
    trained_page,
)
from cputrain.report import page as pages
from cputrain.report.kept import KeptExport, Line
from cputrain.report.machine_page import MachinePage
from cputrain.results import engines, machines, rows, tables
from cputrain.results.records import Problem


@dataclass(frozen=True)
class Order:
    """What is to be made.

    Attributes:
        root: of data and results.
        machine: whose.
        suites: names of all that there are, whether they ran or not.
        place: where the machine's first screen stands.
        inputs: fingerprint of what it is made from.
        declared: the cells that its suites have now.
    """

    root: Path
    machine: str
    suites: Collection[str]
    place: pages.PagePlace
    inputs: str
    declared: Declared = field(default_factory=dict)


def make(order: Order) -> KeptExport:
    """Write all files of a machine, and keep what an export needs where it has not changed.

    Files of its last export that are no more, and are as that left them, are deleted.

    Raises:
        OSError: something cannot be written.
    """
    root, name, folder = order.root, order.machine, order.root / "result" / order.machine
    before = kept.read(root, name)
    page, problems = read(root, name, order.suites, order.declared)
    files = _write(root / "result", page, order.place)
    own = order.place is pages.PagePlace.OWN
    made = KeptExport(
        order.inputs,
        {str(path.relative_to(folder)): _stamp(path) for path in files},
        line(page),
        "" if own else pages.section(page, order.place),
        first_screen.lines(page.answers),
        [(str(paths.shown(p.path, root)), p.reason) for p in dict.fromkeys(problems)],
    )
    for path, known in before.made.items() if before else ():
        if path not in made.made and inputs.stamp(folder / path) == known:
            (folder / path).unlink()
    kept.write(root, name, made)
    return made


def line(page: MachinePage) -> Line:
    """What the index says of a machine."""
    facts, changes = page.machine.facts, page.answers.changes
    fastest_s, slowest_s = page.baseline_range_s or (None, None)
    started = [row["started"] for row in page.rows if row["started"]]
    return Line(
        name=page.name,
        about=page.machine.line,
        cpu=str(facts.get("cpu") or ""),
        cores=str(facts.get("cores") or facts.get("num_cpu") or ""),
        cells=len(page.rows),
        measured=sum(cell.ok for cell in page.cells),
        baseline_s=page.baseline_s,
        fastest_s=fastest_s,
        slowest_s=slowest_s,
        best=f"{changes[0].what}: {changes[0].effect}" if changes else "",
        date=max(started, default="")[:10],
        compared=list(page.compared),
    )


def read(
    root: Path, name: str, suites: Collection[str], declared: Declared | None = None
) -> tuple[MachinePage, list[Problem]]:
    """What the pages say of one machine, and what could not be read.

    Args:
        root: of data and results.
        name: the machine's.
        suites: names of all that there are.
        declared: the cells that its suites have now.
    """
    folder = root / "result" / name
    machine, problems = machines.read(root, name)
    cells, broken = rows.read(root, name)
    peaks, low = machines.believable(machine.peaks, cells, folder / "machine.json")
    analysis = analyse(cells, peaks)
    beside, unread = engines.read(root / "result", name)
    parts_of_steps, lost = parts.read(root, name)
    judged = judge.judge(root, name)
    runs = trained_page.read(root, name)
    own = list(zip(cells, analysis.rows, strict=True))
    known = costs.learned(root, own, machine)
    commits, no_commits = other_commits.read(root, name, own)
    page = MachinePage(
        machine,
        analysis.rows,
        cells,
        noise_lines.lines(analysis),
        plots.places(folder / "plots", cells),
        known=suites,
        engines=beside,
        parts=parts_of_steps,
        claims=judged.verdicts if judged.cells else [],
        costs=known if known and known.engines else None,
        trained=runs,
        commits=commits,
        compared=comparisons.of_releases(root, name),
        beside=comparisons.of_machines(root / "result", name),
        candidates=open_cells.candidates(analysis),
        declared=declared or {},
    )
    problems += [*broken, *low, *unread, *lost, *judged.problems, *runs.problems, *no_commits]
    return page, problems


def _write(result: Path, page: MachinePage, place: pages.PagePlace) -> list[Path]:
    """Write all files of a machine; their paths."""
    drawn = result / page.name / "plots"
    files = list(plots.draw_all(drawn, page.rows, page.cells).values())
    if page.bars:
        files.append(forest.write(drawn / "settings.svg", page.name, page.bars))
    if page.parts:
        files += parts.write(result, page.name, page.parts)
    if page.claims:
        files += claims.write(result, page.name, page.claims)
    if page.trained.runs:
        files += trained_page.write(result, page.name, page.trained)
    if page.commits.rows:
        files.append(other_commits.write(result, page.name, page.commits))
    files += tables.write_machine(result, page.name, page.rows)
    files += pages.write(result, page, place)
    return [*files, html.write(result, page)]


def _stamp(path: Path) -> inputs.Stamp:
    its = inputs.stamp(path)
    if its is None:
        raise FileNotFoundError(2, "deleted while it was made", str(path))
    return its
