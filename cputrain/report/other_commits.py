"""result/<machine>/commits.md: other commits that `asv run A..B` has measured, beside HEAD's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain.analysis.effects import analyse
from cputrain.analysis.ends import CellRow, interval
from cputrain.atomic import write_made
from cputrain.report import templates, words
from cputrain.results import other_commits
from cputrain.results.problem import Problem

PAGE = "commits.md"


@dataclass(frozen=True)
class CommitsPage:
    """The table.

    Attributes:
        head: names of the columns: the cell, each commit, HEAD.
        rows: texts, one for each cell that another commit was measured on.
    """

    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def read(root: Path, machine: str, own: Sequence[CellRow]) -> tuple[CommitsPage, list[Problem]]:
    """The table of a machine, and what could not be read.

    Args:
        root: of data and results.
        machine: whose.
        own: cells of the tables, which are HEAD's when they were measured.
    """
    commits, problems = other_commits.read(root, machine)
    if not commits:
        return CommitsPage(), problems
    analysed = [(its.cells, analyse(its.cells, {}).rows) for its in commits]
    texts = [_texts(list(zip(cells, rows, strict=True))) for cells, rows in analysed]
    names = dict.fromkeys(name for its in texts for name in its)
    head = ["cell", *(f"{its.commit}, {its.measured}" for its in commits), "in the tables"]
    columns = [*texts, _texts(own)]
    return CommitsPage(head, [[n, *(its.get(n, "") for its in columns)] for n in names]), problems


def _texts(cells: Sequence[CellRow]) -> dict[str, str]:
    """By cell, its step and effect, or what came of it instead."""
    texts = {}
    for cell, row in cells:
        text = words.seconds(cell.step_s) if cell.step_s is not None else cell.status
        if cell.is_baseline:
            text += ", baseline"
        elif row["effect"] is not None:
            effect = words.effect(row["effect"], *interval(row))
            text += f", {effect} {row['verdict'] or ''}".rstrip()
        texts[cell.name] = text
    return texts


def write(result: Path, machine: str, its: CommitsPage) -> Path:
    """Write the page; its path.

    Raises:
        OSError: it cannot be written, and is as it was before.
    """
    path = result / machine / PAGE
    write_made(path, templates.markdown("commits.md.j2", {"machine": machine, "its": its}))
    return path
