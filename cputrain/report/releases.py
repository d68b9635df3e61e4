"""A comparison of releases or commits, in plain lines and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cputrain.analysis.paired.noise import EngineNoise
from cputrain.analysis.releases import mean
from cputrain.analysis.releases.causes import Difference
from cputrain.analysis.releases.compared import Compared, ComparedCell
from cputrain.analysis.releases.mean import Mean
from cputrain.atomic import write_made
from cputrain.record.releases import FOLDER, ReleasesRecord, TakenPair
from cputrain.report import templates, words
from cputrain.wording import counted

TOLD = ("slower", "faster")
"""Verdicts of a time that differs: which passes of the step take it is told with these alone."""
MOST_CAUSES = 4
"""Of a row; the page has all of them below."""
METHOD = "../../../docs/releases.md"
STEP_FROM, STEP_TO = 0.97, 1.03
"""A pass of a step whose time is within does not differ."""


def sides(record: ReleasesRecord) -> list[str]:
    """Who is compared, a line each, and the packages that differ."""
    lines = []
    for place, side in enumerate(record.sides):
        commit = f"commit {side.commit[:10]}" if side.commit else "no commit"
        dirty = f", {counted(len(side.dirty), 'file')} changed" if side.dirty else ""
        role = "reference" if place == 0 else "beside it"
        lines.append(f"{role}: {side.label} ({commit}{dirty})")
    return lines


def pair(taken: TakenPair, record: ReleasesRecord) -> str:
    """A line for a pair of workers that has ended."""
    label = "A/A" if taken.is_identical else record.sides[taken.sides[1]].label
    head = f"  pass {taken.number}  {taken.key.suite}/{taken.key.name}  {label}"
    if taken.worker is None:
        return f"{head}  {taken.status}: {taken.reason}"
    ratio = taken.worker.paired_ratio
    return f"{head}  {'disturbed' if ratio is None else words.ratio(ratio)}"


def table(record: ReleasesRecord, compared: Compared) -> list[str]:
    """The result in lines: means first, then each cell with the cause beside it."""
    lines = []
    if compared.versions:
        lines.append(_versions(compared.versions))
    for place in range(1, len(record.sides)):
        lines.append(f"{record.sides[place].label}, time over {record.sides[0].label}:")
        own = [cell for cell in compared.cells if cell.place == place]
        names = compared.means.get(place, {})
        wide = max((len(cell.name) for cell in own), default=0)
        for cell in own:
            lines.append(f"  {cell.name:<{wide}}  {_effect(cell)}")
        for name, each in names.items():
            lines.append(f"  {_mean_name(name, each)}: {_ratio(each)}")
    return lines


def _versions(versions: Mapping[str, tuple[str | None, ...]]) -> str:
    """Packages that all sides have; how many others there are."""
    shared = {name: each for name, each in versions.items() if None not in each}
    others = len(versions) - len(shared)
    texts = [_version(*item) for item in shared.items()]
    texts += [f"{counted(others, 'package')} not on every side"] if others else []
    return f"versions: {'; '.join(texts)}"


def _version(name: str, versions: tuple[str | None, ...]) -> str:
    return f"{name} {' -> '.join(map(str, versions))}"


def _mean_name(name: str, each: Mean) -> str:
    return f"geometric mean of {name or 'all'} ({counted(each.cells, 'cell')})"


def _ratio(each: Mean) -> str:
    return words.ratio(each.value, each.low, each.high)


def _effect(cell: ComparedCell) -> str:
    if cell.effect is None:
        return f"no ratio: {cell.why}"
    verdict = words.verdict(cell.verdict.word, cell.verdict.further_passes)
    effect = words.effect(cell.effect.value, cell.effect.low, cell.effect.high)
    return f"{effect}  {verdict}{''.join(f'; {each}' for each in causes(cell))}"


def causes(cell: ComparedCell) -> list[str]:
    """What stands beside an effect: doubts of it, passes of the step that take it, what differs."""
    where = [
        f"{name} {words.ratio(value)}"
        for name, value in cell.passes_of_step
        if cell.verdict.word in TOLD and not STEP_FROM <= value <= STEP_TO
    ]
    texts = [*cell.doubts, *([", ".join(where)] if where else [])]
    other = [each for each in cell.differences if not each.what.startswith("version of ")]
    texts += [each.words for each in other[:MOST_CAUSES]]
    if len(other) > MOST_CAUSES:
        texts.append(f"and {len(other) - MOST_CAUSES} more")
    return texts


def write(
    result: Path, record: ReleasesRecord, compared: Compared, without_time: Sequence[str]
) -> Path:
    """Write the page; where it lies.

    Args:
        result: folder of results.
        without_time: names of cells that found no time.

    Raises:
        OSError: it cannot be written.
    """
    path = result / record.machine / FOLDER / f"{record.session}.md"
    context: dict[str, Any] = {
        "record": record,
        "sides": sides(record),
        "versions": [_row(name, each) for name, each in compared.versions.items()],
        "parts": [_part(place, record, compared) for place in range(1, len(record.sides))],
        "noises": list(_noises(compared.noises)),
        "left_out": list(record.left_out.items()),
        "without_time": list(dict.fromkeys(without_time)),
        "took": words.duration(record.took_s),
        "budget": words.duration(record.budget_s),
        "method": METHOD,
    }
    write_made(path, templates.markdown("releases.md.j2", context))
    return path


def _row(name: str, versions: tuple[str | None, ...]) -> list[str]:
    return [name, *(version or "not there" for version in versions)]


def _part(place: int, record: ReleasesRecord, compared: Compared) -> dict[str, Any]:
    """What the page says of one side beside the reference."""
    own = [cell for cell in compared.cells if cell.place == place]
    means = compared.means.get(place, {})
    return {
        "label": record.sides[place].label,
        "mean": f"{_ratio(means[mean.ALL])}" if mean.ALL in means else "",
        "count": counted(means[mean.ALL].cells, "cell") if mean.ALL in means else "",
        "suites": [(name, _ratio(each), each.cells) for name, each in means.items() if name],
        "cells": [_cell(cell) for cell in own],
        "differing": _differing(own),
    }


def _differing(cells: Sequence[ComparedCell]) -> list[tuple[str, list[Difference]]]:
    """What differs, once for all cells in which it is the same: their names, and the facts."""
    names: dict[tuple[Difference, ...], list[str]] = {}
    for cell in cells:
        if cell.differences:
            names.setdefault(tuple(cell.differences), []).append(cell.name)
    return [(", ".join(each), list(facts)) for facts, each in names.items()]


def _cell(cell: ComparedCell) -> dict[str, str]:
    times = [words.seconds(each) for each in cell.step_s] if cell.step_s else ["", ""]
    known = cell.effect
    return {
        "name": cell.name,
        "reference": times[0],
        "own": times[1],
        "ratio": words.effect(known.value, known.low, known.high) if known else "no ratio",
        "verdict": words.verdict(cell.verdict.word, cell.verdict.further_passes) if known else "",
        "passes": f"{known.passes} / {known.pairs}" if known else "",
        "losses": cell.losses,
        "why": "; ".join(causes(cell)) if known else cell.why or "",
    }


def _noises(noises: dict[str, EngineNoise | None]) -> Iterator[tuple[str, str]]:
    """What identical workers were apart, by engine."""
    for engine, noise in noises.items():
        if noise is None:
            yield engine, "no A/A pair counts, so there is no interval"
            continue
        worker, low, high, block, worst = map(
            words.percent,
            (noise.worker, noise.worker_low, noise.worker_high, noise.block, noise.worst),
        )
        pairs = counted(noise.identical, "A/A pair of workers", "A/A pairs of workers")
        yield (
            engine,
            (
                f"two workers of the same are {worker} apart (90 % between {low} and {high}), two "
                f"blocks {block}; from {pairs}, the worst of which was {worst} off"
            ),
        )
