"""result/README.md: of few machines their first screens, of many a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cputrain import wording
from cputrain.atomic import write_text
from cputrain.experiment import Experiment
from cputrain.report import comparisons, page, templates, words
from cputrain.report.example import Example
from cputrain.report.kept import KeptExport
from cputrain.report.page import PagePlace
from cputrain.results import tables
from cputrain.results.records import Problem

FILE = "README.md"


def write(
    result: Path,
    machines: Sequence[KeptExport],
    place: PagePlace,
    problems: Sequence[Problem],
    example: Example | None = None,
) -> Path:
    """Write it; its path. The arguments are those of `text`.

    Raises:
        OSError: it cannot be written, and is as it was before.
    """
    path = result / FILE
    write_text(path, text(machines, place, problems, example, comparisons.of_machines(result)))
    return path


def text(
    machines: Sequence[KeptExport],
    place: PagePlace,
    problems: Sequence[Problem],
    example: Example | None = None,
    compared: Sequence[str] = (),
) -> str:
    """The page, the machine whose baseline is fastest first.

    Args:
        machines: that have results.
        place: where their first screens stand.
        problems: that are named on it.
        example: a machine elsewhere, which has a line beside them, unless it is one of them.
        compared: names of comparisons, which are linked.
    """
    if example is not None and example.machine in {its.line.name for its in machines}:
        example = None
    ordered = sorted(machines, key=lambda its: its.line.baseline_s or float("inf"))
    context = {
        "w": words,
        "base": Experiment(),
        "anchor": wording.anchor,
        "link": page.link,
        "machines": ordered,
        "example": example,
        "is_many": place is PagePlace.OWN,
        "is_joined": len(ordered) <= tables.MOST_JOINED,
        "problems": problems,
        "compared": compared,
        "releases": [(its.line.name, *page) for its in ordered for page in its.line.compared],
    }
    return templates.markdown("page.md.j2", context)
