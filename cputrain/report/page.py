"""result/README.md: the first screen of each machine and its tables; a page for each suite."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cputrain import wording
from cputrain.analysis import by_engine, ranking
from cputrain.analysis.ends import Measured
from cputrain.atomic import write_text
from cputrain.experiment import Experiment
from cputrain.report import engines, presets, templates, words
from cputrain.report.example import Example
from cputrain.report.machine_page import MachinePage
from cputrain.report.notes import note
from cputrain.results.records import Problem

OWN = ("published.md", "engines.md")
"""Further pages of a machine that are made here."""


def write(
    result: Path,
    pages: Sequence[MachinePage],
    problems: Sequence[Problem],
    example: Example | None = None,
) -> list[Path]:
    """Write result/README.md, and below each machine's folder the pages that it links to."""
    written = texts(result, pages, problems, example)
    for path, text in written.items():
        write_text(path, text)
    return list(written)


def texts(
    result: Path,
    pages: Sequence[MachinePage],
    problems: Sequence[Problem],
    example: Example | None = None,
) -> dict[Path, str]:
    """Every page by its path, result/README.md first.

    Args:
        result: the folder.
        pages: of its machines.
        problems: that are named on it.
        example: a machine elsewhere, which has a line beside them, unless it is one of them.
    """
    if example is not None and example.machine in {page.name for page in pages}:
        example = None
    descriptions = {c.suite: c.key.description for p in pages for c in p.cells}
    context = {**SAID, "descriptions": descriptions}
    ordered = sorted(pages, key=lambda page: page.baseline_s or float("inf"))
    written = {
        result / "README.md": templates.markdown(
            "page.md.j2",
            {**context, "pages": ordered, "problems": problems, "example": example},
        )
    }
    for page in pages:
        folder = result / page.name
        for table in page.suites():
            of_suite = {**context, "page": page, "table": table}
            written[folder / f"{table.suite}.md"] = templates.markdown("suite.md.j2", of_suite)
        for name in OWN:
            if name in page.others.values():
                text = templates.markdown(f"{name}.j2", {**context, "page": page})
                written[folder / name] = text
    return written


def _link(page: MachinePage, *parts: str) -> str:
    """From result/README.md to a file of a machine, given folder by folder."""
    return "/".join(map(_quoted, (page.name, *parts)))


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
    said = wording.markdown(words.verdict(entry.row["verdict"], entry.row["further_passes"]))
    shown = f"**{said}**" if said in ("faster", "slower") else said
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


SAID: Mapping[str, Any] = {
    "w": words,
    "note": note,
    "base": Experiment(),
    "anchor": wording.anchor,
    "end": _end,
    "link": _link,
    "other_engines": _other_engines,
    "span": _span,
    "chosen": presets.chosen,
    "engines": engines,
    "code": _code,
    "quote": _quoted,
}
"""What the templates of these pages call."""
