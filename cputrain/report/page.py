"""result/README.md: what the numbers say, then a table and a plot for each suite."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

import jinja2

from cputrain import wording
from cputrain.analysis import by_engine, ranking
from cputrain.analysis.ends import Measured
from cputrain.atomic import write_text
from cputrain.experiment import Experiment
from cputrain.report import engines, presets, words
from cputrain.report.machine_page import MachinePage
from cputrain.report.notes import note
from cputrain.results.records import Problem


def write(
    result: Path,
    pages: Sequence[MachinePage],
    problems: Sequence[Problem],
) -> Path:
    """Write result/README.md; its path."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # it is Markdown: `md` escapes what is not ours
    )
    environment.globals |= {"w": words, "note": note, "base": Experiment()}
    environment.globals |= {"md": wording.markdown, "anchor": wording.anchor}
    environment.globals |= {"counted": wording.counted, "end": _end}
    environment.globals |= {"other_engines": _other_engines, "span": _span}
    environment.globals |= {"chosen": presets.chosen, "engines": engines}
    template = environment.get_template("page.md.j2")
    text = template.render(
        pages=sorted(pages, key=lambda page: page.baseline_s or float("inf")),
        descriptions={c.suite: c.key.description for p in pages for c in p.cells},
        problems=problems,
        link=lambda path: urllib.parse.quote(path.relative_to(result).as_posix()),
    )
    path = result / "README.md"
    write_text(path, re.sub(r"\n{3,}", "\n\n", text))
    return path


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
