"""A machine's pages: its first screen and tables, and a page for each suite."""

from __future__ import annotations

import enum
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cputrain import wording
from cputrain.analysis import by_engine, ranking
from cputrain.analysis.ends import Measured
from cputrain.atomic import write_made
from cputrain.experiment import Experiment
from cputrain.report import engines, presets, templates, words
from cputrain.report.machine_page import MachinePage
from cputrain.report.notes import note

FURTHER = ("published.md", "engines.md")
"""Further pages of a machine that are made here."""
FILE = "README.md"
"""A machine's page, where it has one of its own."""
FEW = 3
"""Machines whose first screens stand in result/README.md itself."""


class PagePlace(enum.Enum):
    """Where the first screen of a machine stands: in result/README.md, or on a page of its own."""

    ALONE = enum.auto()
    BESIDE_OTHERS = enum.auto()
    OWN = enum.auto()


def place(machines: int) -> PagePlace:
    """Where the first screens of so many machines stand."""
    if machines > FEW:
        return PagePlace.OWN
    return PagePlace.ALONE if machines < 2 else PagePlace.BESIDE_OTHERS


def write(result: Path, page: MachinePage, where: PagePlace) -> list[Path]:
    """Write a machine's pages below its folder: suites, further ones, its own; their paths.

    Raises:
        OSError: one cannot be written, and is as it was before.
    """
    folder = result / page.name
    written = {folder / name: text for name, text in texts(page).items()}
    if where is PagePlace.OWN:
        written[folder / FILE] = section(page, where)
    for path, text in written.items():
        write_made(path, text)
    return list(written)


def section(page: MachinePage, where: PagePlace) -> str:
    """The first screen of a machine and its tables, as result/README.md or its own page has it."""
    is_own = where is PagePlace.OWN
    context: dict[str, Any] = {
        "page": page,
        "link": _link_of_own if is_own else link,
        "h": "" if is_own else "#",
    }
    context |= {"several": where is PagePlace.BESIDE_OTHERS, "own": is_own}
    return templates.markdown("machine.md.j2", {**COMMON, **context})


def texts(page: MachinePage) -> dict[str, str]:
    """The pages of a machine's suites, and further ones, by their names."""
    descriptions = {cell.suite: cell.key.description for cell in page.cells}
    context = {**COMMON, "descriptions": descriptions, "page": page}
    written = {
        f"{table.suite}.md": templates.markdown("suite.md.j2", {**context, "table": table})
        for table in page.suites()
    }
    further = [name for name in FURTHER if name in page.others.values()]
    return written | {name: templates.markdown(f"{name}.j2", context) for name in further}


def link(machine: str, *parts: str) -> str:
    """From result/README.md to a file of a machine, given folder by folder."""
    return "/".join(map(_quoted, (machine, *parts)))


def _link_of_own(_machine: str, *parts: str) -> str:
    """The same from a machine's own page."""
    return "/".join(map(_quoted, parts))


def _quoted(name: str) -> str:
    """A file's name in a link; what no file's name can have is replaced."""
    return urllib.parse.quote(wording.one_line(name), safe="")


def _code(text: str) -> str:
    """A line to paste, in a table."""
    plain = wording.one_line(text).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`"


def _end(entry: Measured) -> str:
    """An end of a suite's range: "2048: 8.11x [8.02, 8.19] slower"."""
    value = wording.markdown(by_engine.setting(entry.cell))
    if entry.cell.is_baseline:
        return f"{value}: baseline"
    verdict = wording.markdown(words.told(entry.row))
    shown = f"**{verdict}**" if verdict in ("faster", "slower") else verdict
    return f"{value}: {words.effect(entry.effect, entry.low, entry.high)} {shown}".strip()


def _span(ratios: tuple[float, float] | None) -> str:
    """The smallest and the largest of some ratios: "0.812x to 1.000x"."""
    return "" if ratios is None else " to ".join(map(words.ratio, ratios))


def _other_engines(suite: ranking.Ranked) -> str:
    """The same on the suite's other engines: "jax 0.412x to 3.21x, native 0.410x to 4.02x"."""
    return ", ".join(
        f"{wording.markdown(other.engine)} {_span((other.fastest.effect, other.slowest.effect))}"
        for other in suite.others
    )


COMMON: Mapping[str, Any] = {
    "w": words,
    "note": note,
    "base": Experiment(),
    "anchor": wording.anchor,
    "end": _end,
    "other_engines": _other_engines,
    "span": _span,
    "chosen": presets.chosen,
    "engines": engines,
    "code": _code,
    "quote": _quoted,
}
"""What the templates of these pages call."""
