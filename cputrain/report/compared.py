"""One machine beside another: the page of a comparison, and its lines for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis.machines import differing, equal, paying, ratios
from cputrain.analysis.machines.differing import Differs
from cputrain.analysis.machines.equal import Equal
from cputrain.analysis.machines.machine import Machine
from cputrain.analysis.machines.paying import Paying
from cputrain.analysis.machines.ratios import Ratio
from cputrain.analysis.machines.usual import LEAST_S
from cputrain.report import templates, words
from cputrain.wording import counted

MOST_LINES = 8
"""Settings that a terminal shows."""
LONG = ("isa", "mitigations")
"""Facts that are too long for a terminal's line."""


@dataclass(frozen=True)
class Comparison:
    """The first machine beside another one.

    Attributes:
        equal: experiments that both have a number of.
        other_experiments: cells of one name that ran another experiment.
        engines: the geometric mean over suites, by engine; suites: by suite and engine.
        unpaired: cells that suites have as they were measured, and engines do not.
        paying: settings whose effects differ.
        facts, releases: what differs in the machines, and in what ran on them.
        unrecorded: by machine, facts and commits that are known of the other one alone.
    """

    first: Machine
    other: Machine
    equal: list[Equal]
    other_experiments: int
    engines: list[Ratio]
    suites: list[Ratio]
    unpaired: list[Equal]
    paying: list[Paying]
    facts: list[Differs]
    releases: list[Differs]
    unrecorded: list[tuple[str, list[str]]]

    @property
    def drift(self) -> str:
        """What the intervals have of drift, and what they lack, in a sentence."""
        each = "; ".join(f"{m.name} {_wander(m)}" for m in (self.first, self.other))
        return (
            "Drift between two machines cannot be paired away as that between two workers of one "
            "can: each cell's time is its paired effect times its reference's usual time, and the "
            "intervals hold how well that is known from what each machine's own speed varied by "
            f"while it was measured ({each}), and nothing of what it does on another day."
        )

    @property
    def confounded(self) -> str | None:
        """That a release may be the cause, where releases differ; None where they do not."""
        if not self.releases:
            return None
        a, b = self.first.name, self.other.name
        differing = "; ".join(f"{d.what} {d.first} on {a}, {d.other} on {b}" for d in self.releases)
        return (
            f"What ran differs too ({differing}): a difference of the machine and one of the "
            "release cannot be told apart here."
        )

    @property
    def left_out(self) -> str | None:
        """Cells that are not compared, though they are called alike, and those of no mean."""
        lines = []
        if self.other_experiments:
            cells = counted(self.other_experiments, "cell has", "cells have")
            lines.append(
                f"{cells} the same name on both and ran another experiment: they are not compared."
            )
        if self.unpaired:
            suites = ", ".join(dict.fromkeys(pair.suite for pair in self.unpaired))
            cells = counted(len(self.unpaired), "cell has", "cells have")
            lines.append(
                f"{cells} no pairs on both ({suites}): a suite's ratio has them as measured, with "
                "all drift, an engine's mean does not have them."
            )
        return " ".join(lines) or None

    @property
    def first_steps(self) -> list[Equal]:
        """Experiments whose time is that of a first step, each that ran once."""
        return [pair for pair in self.equal if pair.is_first_step and not pair.repeats]

    @property
    def lacking(self) -> list[str]:
        """What is not recorded, a line for each machine."""
        return [f"not recorded of {name}: {', '.join(facts)}" for name, facts in self.unrecorded]


def compare(first: Machine, other: Machine) -> Comparison | None:
    """The first machine beside another one; None where they have no equal experiment."""
    pairs, others = equal.equal(first.cells, other.cells)
    if not pairs:
        return None
    return Comparison(
        first,
        other,
        pairs,
        others,
        ratios.by_engine(first, other, pairs),
        ratios.by_suite(first, other, pairs),
        [pair for pair in pairs if pair.counts and not ratios.is_paired(first, other, pair)],
        paying.paying(first.cells, other.cells, pairs),
        differing.facts(first, other),
        differing.releases(first, other),
        differing.unrecorded(first, other),
    )


def text(comparisons: Sequence[Comparison], stem: str) -> str:
    """The page, all that machines' files say escaped.

    Args:
        comparisons: of one machine with others.
        stem: of the names of the picture and the tables beside it.
    """
    context = {"ratio": ratio, "effect": effect, "where": where, "first_step": first_step}
    return templates.markdown(
        "compared.md.j2", {**context, "comparisons": comparisons, "stem": stem}
    )


def lines(comparison: Comparison) -> list[str]:
    """The comparison for a terminal; not made safe for one."""
    first, other = comparison.first.name, comparison.other.name
    texts = [
        f"{first} beside {other}: time of a step over that of {other} [99 % interval]; a mean over "
        "suites weighs each by how surely it is told"
    ]
    for line in comparison.engines:
        of = f"{counted(line.suites, 'suite')}, {counted(line.cells, 'equal experiment')}"
        texts.append(f"  {line.engine}: {ratio(line)}, {line.verdict} ({of})")
    texts += [f"  {line.suite}, {line.engine}: {ratio(line)}" for line in surest(comparison)]
    if comparison.paying:
        texts.append("settings whose effect differs, by pairs on each machine:")
    for its in comparison.paying[:MOST_LINES]:
        texts.append(
            f"  {its.equal.suite} {its.equal.value}: {effect(its, True)} on {first}, "
            f"{effect(its, False)} on {other}"
        )
    rest = len(comparison.paying) - MOST_LINES
    texts += [f"  and {rest} more on the page"] if rest > 0 else []
    short = [d for d in comparison.facts if d.what not in LONG]
    if short:
        texts.append("what differs: " + "; ".join(f"{d.what} {d.first}, {d.other}" for d in short))
    texts += comparison.lacking
    texts += [line for line in (comparison.confounded, comparison.left_out) if line]
    return [*texts, comparison.drift]


def surest(comparison: Comparison) -> list[Ratio]:
    """The suites that are furthest from the mean of their engine, both ways, a few of them."""
    means = {line.engine: line.value for line in comparison.engines}
    ordered = sorted(comparison.suites, key=lambda line: line.value / means.get(line.engine, 1.0))
    if len(ordered) <= MOST_LINES:
        return ordered
    return [*ordered[: MOST_LINES // 2], *ordered[-MOST_LINES // 2 :]]


def ratio(line: Ratio) -> str:
    """A ratio with its interval, or why there is none."""
    return words.ratio(line.value, line.low, line.high) + (
        f" ({line.reason})" if line.reason else ""
    )


def effect(its: Paying, on_first: bool) -> str:
    """A setting's effect on one of the two machines, with its verdict."""
    entry = its.first if on_first else its.other
    verdict = its.verdicts[0 if on_first else 1]
    return f"{words.effect(entry.effect, entry.low, entry.high)} {verdict}"


def first_step(pair: Equal) -> tuple[str, str, str]:
    """Its time on both machines, and the ratio, as it was measured."""
    times = [cell.step_s or math.nan for cell, _ in (pair.first, pair.other)]
    return words.seconds(times[0]), words.seconds(times[1]), words.ratio(times[0] / times[1])


def where(its: Paying, comparison: Comparison) -> str:
    """On which of the two machines a setting pays."""
    names = {"first": comparison.first.name, "other": comparison.other.name}
    return names.get(its.pays, its.pays)


def _wander(machine: Machine) -> str:
    its = machine.references.wander
    if its is None:
        return f"too few moments to tell, of {words.duration(LEAST_S)} at least"
    spread = f"± {words.percent(its.log_sd)}"
    sessions = counted(its.sessions, "session")
    return f"{spread} at {its.moments} moments of {sessions}, {words.duration(its.recorded_s)}"
