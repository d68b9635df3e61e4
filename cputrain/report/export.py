"""From the run records to every table, plot and page under result/.

A machine whose records, and whose pages, are as the last export left them is not made again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cputrain import paths
from cputrain.analysis.open_cells import Declared
from cputrain.report import example, index, inputs, kept, machine_export, many
from cputrain.report import page as pages
from cputrain.report.kept import KeptExport
from cputrain.report.machine_export import Order
from cputrain.results import asvfiles, engines, other_commits, records, tables, trained
from cputrain.results import parts as step_parts
from cputrain.results.columns import Row
from cputrain.results.records import Problem


@dataclass(frozen=True)
class Summary:
    """What an export found and made.

    Attributes:
        result: folder of the tables.
        machines: what was made of each, by its name.
        problems: what could not be read.
        files: of all pages and tables.
        made: machines that were made anew; the others had not changed.
    """

    result: Path
    machines: dict[str, KeptExport] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    @property
    def cells(self) -> int:
        """How many rows there are."""
        return sum(its.line.cells for its in self.machines.values())

    @property
    def where(self) -> str:
        """Where the rows are, for people."""
        is_joined = len(self.machines) <= tables.MOST_JOINED
        joined = tables.CSV if is_joined else f"<machine>/{tables.PARQUET}"
        return f"result/README.md, result/{joined}"

    @property
    def rows(self) -> list[Row]:
        """The rows of all machines: for those who know that they are few."""
        return [row for machine in self.machines for row in self.rows_of(machine)]

    def rows_of(self, machine: str) -> list[Row]:
        """A machine's rows; none where nothing is known of it."""
        if machine not in self.machines:
            return []
        return tables.read_machine(self.result, machine).to_dicts()

    def screen(self, machine: str) -> list[str] | None:
        """The first screen of a machine, as lines; None where nothing is known of it."""
        return self.machines[machine].screen if machine in self.machines else None


def export(root: Path, declared: Mapping[str, Declared] | None = None) -> Summary:
    """Write everything for every machine found under root/result and root/output.

    Args:
        root: of data and results.
        declared: by machine, the cells that its suites have now; none of machines that are not
            measured here.

    Raises:
        OSError: something under root/result cannot be written.
        RunError: no record can be used, and there are tables of earlier ones; or a process that
            made pages ended.
    """
    result = root / "result"
    suites, problems = asvfiles.suites(root)
    measured, misnamed = records.machines(root)
    problems += misnamed
    problems += tables.without_records(root, measured)
    candidates = {*measured, *engines.machines(result), *step_parts.machines(root)}
    candidates |= {*trained.machines(root), *other_commits.machines(root)}
    names, links = tables.not_links(result, candidates)
    problems += links
    place = pages.place(len(names))
    machines, made = _machines(root, names, suites, place, declared or {})
    broken = [problem for its in machines.values() for problem in its.broken]
    beside, lost = example.read(root)
    problems += lost
    problems = [dataclasses.replace(p, path=paths.shown(p.path, root)) for p in problems]
    problems = list(dict.fromkeys([*problems, *broken]))
    tables.spare(result, sum(its.line.cells for its in machines.values()), problems)
    files = [index.write(result, list(machines.values()), place, problems, beside)]
    files += [result / name / path for name, its in machines.items() for path in its.made]
    files += tables.join(result, names)
    return Summary(result, machines, problems, files, made)


def _machines(
    root: Path,
    names: list[str],
    suites: list[str],
    place: pages.PagePlace,
    declared: Mapping[str, Declared],
) -> tuple[dict[str, KeptExport], list[str]]:
    """Of each machine what was kept or is made anew; and the names of those made anew."""
    machines: dict[str, KeptExport] = {}
    orders = []
    for name in names:
        own = declared.get(name, {})
        cells = (f"{suite}/{cell}" for suite in sorted(own) for cell in sorted(own[suite]))
        now = inputs.fingerprint(root, name, (*suites, place.name, *cells))
        before = kept.read(root, name)
        if before is not None and before.is_of(root / "result" / name, now):
            machines[name] = before
        else:
            orders.append(Order(root, name, suites, place, now, own))
    made = many.make(orders) if len(orders) >= many.FEWEST else map(machine_export.make, orders)
    machines |= {order.machine: its for order, its in zip(orders, made, strict=True)}
    return {name: machines[name] for name in names}, [order.machine for order in orders]
