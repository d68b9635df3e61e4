"""Published runs: what their sources say beside what this machine measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cputrain import wording
from cputrain.experiment.presets import PRESETS, Preset
from cputrain.experiment.published import PublishedFigure, Range
from cputrain.model.shapes import n_params
from cputrain.report import words
from cputrain.results.columns import Row

SUITE = "Preset"
"""The suite whose values are the presets' names."""


@dataclass(frozen=True)
class Line:
    """One line of the table, as text: a preset beside one machine of its source.

    A preset's first line has what was measured here, further ones have the published alone.
    """

    preset: str
    objective: str
    parameters: str
    step: str
    published: str
    ratio: str
    tokens: str
    rate: str
    memory: str
    hardware: str
    note: str


def lines(rows: Sequence[Row], note: Callable[[Row], str]) -> list[Line]:
    """The table for one machine's rows; empty where no preset ran.

    Args:
        rows: of every suite.
        note: what else is to be said of a row, as Markdown.
    """
    of_presets = [row for row in rows if row["suite"] == SUITE and row["value"] in PRESETS]
    if not any(row["mode"] for row in of_presets):
        return []
    table = []
    for row in of_presets:
        figures = PRESETS[row["value"]].figures or (PublishedFigure(),)
        for figure in figures:
            table.append(_line(row, figure, note(row) if figure is figures[0] else None))
    return table


def chosen() -> list[tuple[str, str]]:
    """By preset, what its source leaves open and was chosen."""
    return [(name, preset.chosen) for name, preset in PRESETS.items()]


def _line(row: Row, figure: PublishedFigure, note: str | None) -> Line:
    """`note` is None on a preset's further lines."""
    name, is_first = row["value"], note is not None
    preset = PRESETS[name]
    ran = is_first and row["status"] == "ok"
    notes = [note or "", wording.markdown(figure.how)]
    return Line(
        preset=name if is_first else "",
        objective=preset.experiment.training.objective if is_first else "",
        parameters=_parameters(row, preset) if is_first else "",
        step=_step(row) if ran else "",
        published=_published(figure),
        ratio=_ratio(row, figure),
        tokens=words.number(row["tokens_per_s"]) if ran and row["tokens_per_s"] else "",
        rate=_rate(row) if ran else "",
        memory=words.size(row["peak_rss_bytes"]) if ran and row["peak_rss_bytes"] else "",
        hardware=wording.markdown(figure.hardware or "not named"),
        note="; ".join(filter(None, notes)),
    )


def _parameters(row: Row, preset: Preset) -> str:
    """Computed / stated, in millions: "98.3 M / 80 M"."""
    computed = row["n_params"] or n_params(preset.experiment)
    stated = f"{preset.stated / 1e6:g} M" if preset.stated else "-"
    return f"{words.number(computed / 1e6)} M / {stated}"


def _step(row: Row) -> str:
    text = words.seconds(row["step_s"])
    return f"{text} (reckoned)" if row["composed"] else text


def _rate(row: Row) -> str:
    return words.rate(row["gflop_per_s"], row["mfu"]) if row["gflop_per_s"] else ""


def _published(figure: PublishedFigure) -> str:
    """Everything that the source says, the step time first."""
    figures = []
    if figure.step_s:
        expected = "" if figure.is_measured else " expected"
        figures.append(f"{_range(figure.step_s)} s{expected}")
    if figure.tokens_per_s:
        figures.append(f"{_range(figure.tokens_per_s)} tokens/s")
    if figure.gflop_per_s:
        share = f" ({words.percent(figure.peak_share)})" if figure.peak_share else ""
        figures.append(f"{words.number(figure.gflop_per_s)} GFLOP/s{share}")
    if figure.rss_bytes:
        low, high = figure.rss_bytes
        figures.append(f"{_range((low / 1e9, high / 1e9))} GB")
    return ", ".join(figures) or "no figure"


def _ratio(row: Row, figure: PublishedFigure) -> str:
    """The published step time over ours: "2.3x", or its range."""
    if not figure.step_s or row["status"] != "ok" or not row["step_s"]:
        return ""
    low, high = (seconds / row["step_s"] for seconds in figure.step_s)
    return _range((low, high), words.ratio)


def _range(given: Range, shown: Callable[[float], str] = words.number) -> str:
    low, high = (shown(value) for value in given)
    return low if low == high else f"{low} to {high}"
