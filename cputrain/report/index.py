"""result/README.md: of few machines their first screens, of many a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cputrain import wording
from cputrain.atomic import write_text
from cputrain.experiment import Experiment
from cputrain.report import page, templates, words
from cputrain.report.kept import Kept
from cputrain.report.page import Place
from cputrain.results import tables
from cputrain.results.records import Problem

FILE = "README.md"


def write(
    result: Path, machines: Sequence[Kept], place: Place, problems: Sequence[Problem]
) -> Path:
    """Write it; its path.

    Raises:
        OSError: it cannot be written, and is as it was before.
    """
    path = result / FILE
    write_text(path, text(machines, place, problems))
    return path


def text(machines: Sequence[Kept], place: Place, problems: Sequence[Problem]) -> str:
    """The page, the machine whose baseline is fastest first."""
    ordered = sorted(machines, key=lambda its: its.line.baseline_s or float("inf"))
    said = {
        "w": words,
        "base": Experiment(),
        "anchor": wording.anchor,
        "link": page.link,
        "machines": ordered,
        "is_many": place is Place.OWN,
        "is_joined": len(ordered) <= tables.MOST_JOINED,
        "problems": problems,
    }
    return templates.markdown("page.md.j2", said)
