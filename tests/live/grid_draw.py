"""Which combinations of a grid are measured, by what its single values gave."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cputrain.engines import specs
from cputrain.experiment import Experiment, ExperimentError
from cputrain.run import placement, stacks
from cputrain.sweep.tuning.candidates import FAR
from tests.live.grid_shares import Share, SingleChange, differing

BEST = 2
"""Values of a knob that are combined."""


@dataclass(frozen=True)
class KnownShare:
    """A share whose values were measured by themselves; all are logarithms of ratios.

    Attributes:
        level: of its plain settings, over tune's choice.
        effects: of single changes over the plain settings, by label; those that gave a number.
    """

    share: Share
    level: float
    effects: Mapping[str, float]

    def best_values(self) -> list[list[tuple[float, SingleChange | None]]]:
        """The best values of each knob with their effects, the best first; None is the plain one.

        A knob of which no other value gave a number has the plain one alone.
        """
        best = []
        for values in self.share.by_knob().values():
            each: list[tuple[float, SingleChange | None]] = [(0.0, None)]
            each += [(self.effects[v.label], v) for v in values if v.label in self.effects]
            best.append(sorted(each, key=lambda value: value[0])[:BEST])
        return best


@dataclass(frozen=True)
class Combination:
    """A cell of the grid.

    Attributes:
        label: its engine and what is changed, for people.
        experiment: settled.
        expected: logarithm of its time over that of tune's choice, if effects multiply.
    """

    label: str
    experiment: Experiment
    expected: float


@dataclass(frozen=True)
class Drawn:
    """Combinations that are measured.

    Attributes:
        cells: no two of them run the same.
        product: how many combinations the best values have.
        near: how many of these are expected within `FAR` of the best; all cells are of them.
    """

    cells: list[Combination]
    product: int
    near: int


Parts = tuple[float, KnownShare, tuple[SingleChange, ...]]
"""What a combination is expected to take, and what it is made of."""


def neighbours(known: Sequence[KnownShare], choice: Experiment) -> list[Combination]:
    """Tune's choice with the value of one knob changed, or put back; the first expected fastest.

    What is expected to take more than `FAR` times as long is left out.
    """
    cells: list[Combination] = []
    taken = {choice.identity}
    for each in known:
        chosen = differing(choice, each.share.plain)
        if "engine" in chosen:
            continue
        for values in each.share.by_knob().values():
            own = next((v for v in values if v.fields.items() <= chosen.items()), None)
            back = {} if own is None else {n: v for n, v in chosen.items() if n not in own.fields}
            now = 0.0 if own is None else each.effects.get(own.label, 0.0)
            if own is not None:
                label = f"tune's choice without {own.label}"
                _add(label, each.share.plain, back, -now, cells, taken)
            for value in values:
                if each.effects.get(value.label, math.inf) - now > math.log(FAR):
                    continue
                base = chosen if own is None else back
                label = f"tune's choice with {value.label}"
                expected = each.effects[value.label] - now
                _add(label, each.share.plain, {**base, **value.fields}, expected, cells, taken)
    return sorted(cells, key=lambda cell: cell.expected)


def draw(known: Sequence[KnownShare], most: int, seed: int, out: Sequence[Experiment]) -> Drawn:
    """Half of the cells are those expected to be fastest, the others by chance from those near.

    Args:
        known: the shares that gave a number.
        most: cells at most.
        seed: of the chance.
        out: what is left out, as it is measured anyway.
    """
    every = sorted((parts for each in known for parts in _product(each)), key=lambda p: p[0])
    near = [parts for parts in every if parts[0] <= every[0][0] + math.log(FAR)]
    cells: list[Combination] = []
    taken, left = {each.identity for each in out}, []
    for parts in near:
        is_first = len(cells) < most - most // 2
        if not (is_first and _take(parts, cells, taken)):
            left.append(parts)
    random.Random(seed).shuffle(left)
    for parts in left:
        if len(cells) >= most:
            break
        _take(parts, cells, taken)
    return Drawn(cells, len(every), len(near))


def _product(known: KnownShare) -> Iterator[Parts]:
    for values in itertools.product(*known.best_values()):
        singles = tuple(single for _, single in values if single is not None)
        yield known.level + sum(effect for effect, _ in values), known, singles


def _take(parts: Parts, cells: list[Combination], taken: set[str]) -> bool:
    """Add a combination, unless it cannot be here or runs what another does; whether it was."""
    expected, known, singles = parts
    fields = {name: value for single in singles for name, value in single.fields.items()}
    if len(fields) != sum(len(single.fields) for single in singles):
        return False  # two of its knobs set the same field
    label = ", ".join((known.share.label, *(single.label for single in singles)))
    return _add(label, known.share.plain, fields, expected, cells, taken)


def _add(
    label: str,
    plain: Experiment,
    changes: Mapping[str, object],
    expected: float,
    cells: list[Combination],
    taken: set[str],
) -> bool:
    """Add a cell, unless it cannot be here or runs what another does; whether it was."""
    try:
        experiment = specs.settle(plain.but(**changes))
        if placement.why_not(experiment, stacks.MAIN) is not None:
            return False
    except ExperimentError:
        return False  # a rule forbids these values together
    if experiment.identity in taken:
        return False
    taken.add(experiment.identity)
    cells.append(Combination(label, experiment, expected))
    return True
