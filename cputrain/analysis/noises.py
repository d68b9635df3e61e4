"""The noise of each engine in each session: learned once, for all cells measured there.

Pairs that leave out what others held up (`record.sample.is_net`) scatter less than those that
compare whole steps, and less than those of steps with many page faults. So the noise of blocks is
learned of each sort by itself, where there are cells enough of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from cputrain.analysis import identical
from cputrain.analysis.counted import Counted, Sort, counted
from cputrain.analysis.paired import noise
from cputrain.analysis.paired.model import Pass
from cputrain.analysis.paired.noise import EngineNoise
from cputrain.analysis.places import Places
from cputrain.results.rows import CellResult

ENOUGH_CELLS = 4
"""Cells of a sort of pairs that its noise of blocks is learned from; of fewer, their own scatter
would be most of what their intervals rest on."""


@dataclass(frozen=True)
class NoiseKey:
    """Where noise is learned: one engine in one session."""

    session: str
    engine: str


@dataclass(frozen=True)
class LearnedNoise:
    """What is known of one engine's noise in one session.

    Attributes:
        by_sort: of each sort of pairs; a sort with fewer than `ENOUGH_CELLS` has the noise of the
            largest one and its own cells together. None without an A/A pass.
        pairs: of all cells of that engine, each that ran once.
    """

    by_sort: Mapping[Sort, EngineNoise] | None
    pairs: Counted

    @property
    def noise(self) -> EngineNoise | None:
        """Of pairs that leave out what others held up."""
        return self.of_sort("net")

    def of_sort(self, sort: Sort) -> EngineNoise | None:
        """The noise of pairs of one sort."""
        return None if self.by_sort is None else self.by_sort[sort]


@dataclass(frozen=True)
class Noises:
    """The noise of one machine.

    Attributes:
        learned: by session and engine.
        references: by a cell's name, its reference's engine.
    """

    learned: Mapping[NoiseKey, LearnedNoise]
    references: Mapping[str, str | None]

    def of(self, cell: CellResult, pairs: Counted) -> EngineNoise | None:
        """The noise of a cell's pairs: of the noisier one where its reference has another engine.

        None where nothing tells it, of one of the two.

        Args:
            cell: with workers.
            pairs: of these.
        """
        engines = _engines(cell, self.references)
        session = cell.workers[-1].session
        known = [self.learned.get(NoiseKey(session, name)) for name in engines if name is not None]
        noises = [its.of_sort(pairs.sort) for its in known if its is not None]
        told = [noise_ for noise_ in noises if noise_ is not None]
        return max(told, key=lambda noise_: noise_.worker) if len(told) == len(engines) else None


def learn(cells: Sequence[CellResult], places: Places | None = None) -> Noises:
    """What the cells of one machine say of its noise.

    A cell whose reference has another engine tells nothing: two kinds of noise are in its pairs.
    Its two engines have a noise in its session all the same, that of the other sessions where no
    other cell of it tells one: a suite of engines may be all that was measured again.

    Args:
        cells: of one machine.
        places: where its CPUs were. A cell's pairs count at one place, else its passes would differ
            by where they were taken; those of A/A passes at any, as their ratio is 1 there.
    """
    references = identical.reference_engines(cells)
    by_key: dict[NoiseKey, list[CellResult]] = {}
    measured = [cell for cell in cells if cell.ok and cell.workers]
    for cell in measured:
        name = identical.engine(cell)
        if name is not None and references[cell.name] == name:
            by_key.setdefault(NoiseKey(cell.workers[-1].session, name), []).append(cell)
    for cell in measured:
        for name in _engines(cell, references):
            if name is not None:
                by_key.setdefault(NoiseKey(cell.workers[-1].session, name), [])
    learned = {key: _learned(key, here, by_key, places) for key, here in by_key.items()}
    return Noises(learned, references)


def _engines(cell: CellResult, references: Mapping[str, str | None]) -> tuple[str | None, ...]:
    """A cell's engine, and its reference's where that is another one."""
    return tuple(dict.fromkeys((identical.engine(cell), references[cell.name])))


def _learned(
    key: NoiseKey,
    here: Sequence[CellResult],
    by_key: Mapping[NoiseKey, Sequence[CellResult]],
    places: Places | None,
) -> LearnedNoise:
    others = [c for c in here if not identical.is_identical(c) and c.same_as is None]
    # A/A passes of this engine in every other session that is still in the records.
    alike = [
        cell
        for other, there in by_key.items()
        if other.engine == key.engine
        for cell in there
        if identical.is_identical(cell)
    ]
    known = [w for flag in (False, True) for w in identical.distinct(alike, earlier=flag)]
    now = [w for w in known if w.session == key.session]
    before = [w for w in known if w.session != key.session]
    pairs = counted([*now, *identical.distinct(others)])
    cells = [counted(cell.workers, places) for cell in others]
    learned = noise.learn(
        counted(now).passes, [cell.passes for cell in cells], counted(before).passes
    )
    if learned is None:
        return LearnedNoise(None, pairs)
    each = [*(counted([worker]) for worker in now), *cells]
    return LearnedNoise(_by_sort(learned, each), pairs)


def _by_sort(learned: EngineNoise, cells: Sequence[Counted]) -> dict[Sort, EngineNoise]:
    """The noise of each sort's pairs.

    Args:
        learned: of all cells.
        cells: the pairs of each.
    """
    passes: dict[Sort, list[tuple[Pass, ...]]] = {sort: [] for sort in get_args(Sort)}
    for pairs in cells:
        if pairs.passes:
            passes[pairs.sort].append(pairs.passes)
    largest = max(passes, key=lambda sort: len(passes[sort]))
    joins = {s: largest if len(its) < ENOUGH_CELLS else s for s, its in passes.items()}
    if set(joins.values()) == {largest}:
        return dict.fromkeys(passes, learned)
    together = {
        group: [its for sort, joined in joins.items() if joined == group for its in passes[sort]]
        for group in set(joins.values())
    }
    known = {group: noise.with_blocks(learned, its) for group, its in together.items()}
    return {sort: known[group] for sort, group in joins.items()}
