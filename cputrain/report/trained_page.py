"""result/<machine>/runs.md and its pictures: what `train` has trained here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.atomic import write_made
from cputrain.report import figure, templates, trained_plot
from cputrain.report.trained import HEAD, TEXTS, TrainedRuns
from cputrain.results import trained

PAGE = "runs.md"


def read(root: Path, machine: str) -> TrainedRuns:
    """The runs of a machine."""
    return TrainedRuns(*trained.read(root, machine))


def write(result: Path, machine: str, runs: TrainedRuns) -> list[Path]:
    """Write page and pictures; their paths.

    Raises:
        OSError: one cannot be written, and is as it was before.
    """
    folder = result / machine
    drawn = []
    for number, group in enumerate(runs.groups, 1):
        path = folder / picture(number)
        write_made(path, figure.svg(trained_plot.draw(machine, group)))
        drawn.append(path)
    write_made(folder / PAGE, text(machine, runs))
    return [*drawn, folder / PAGE]


def picture(number: int) -> str:
    """Where a group's picture lies in the machine's folder; groups count from 1."""
    return f"plots/runs-{number}.svg"


def text(machine: str, runs: TrainedRuns) -> str:
    """The page, all that files say escaped."""
    context: dict[str, Any] = {"machine": machine, "runs": runs, "HEAD": HEAD, "TEXTS": TEXTS}
    context |= {"picture": picture, "description": trained_plot.description}
    return templates.markdown("runs.md.j2", context)


def written(machine: str) -> str:
    """Write the page of a machine's runs after one of them; the line that says where.

    Raises:
        OSError: it cannot be written.
    """
    folder = paths.RESULT / machine
    if folder.is_symlink() or (folder / "plots").is_symlink():
        return f"{folder}: a symbolic link, which is not written to: no page of runs"
    write(paths.RESULT, machine, read(paths.ROOT, machine))
    where = (folder / PAGE).relative_to(paths.ROOT)
    return f"all runs: {where}; python3 bench.py export takes them into the report"
