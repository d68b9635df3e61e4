"""The noise of each engine in each session: learned once, for all cells measured there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis import identical
from cputrain.analysis.counted import Counted, counted
from cputrain.analysis.paired import noise
from cputrain.analysis.paired.noise import EngineNoise
from cputrain.results.rows import CellResult


@dataclass(frozen=True)
class NoiseKey:
    """Where noise is learned: one engine in one session."""

    session: str
    engine: str


@dataclass(frozen=True)
class LearnedNoise:
    """What is known of one engine's noise in one session.

    Attributes:
        noise: None without an A/A pass.
        pairs: of all cells of that engine, each that ran once.
    """

    noise: EngineNoise | None
    pairs: Counted


@dataclass(frozen=True)
class Noises:
    """The noise of one machine.

    Attributes:
        learned: by session and engine.
        references: by a cell's name, its reference's engine.
    """

    learned: Mapping[NoiseKey, LearnedNoise]
    references: Mapping[str, str | None]

    def of(self, cell: CellResult) -> EngineNoise | None:
        """The noise of a cell's pairs: of the noisier one where its reference has another engine.

        None where nothing tells it, of one of the two.
        """
        engines = {identical.engine(cell), self.references[cell.name]}
        session = cell.workers[-1].session
        known = [self.learned.get(NoiseKey(session, name)) for name in engines if name is not None]
        noises = [place.noise for place in known if place is not None and place.noise is not None]
        return (
            max(noises, key=lambda noise_: noise_.worker) if len(noises) == len(engines) else None
        )


def learn(cells: Sequence[CellResult]) -> Noises:
    """What the cells of one machine say of its noise.

    A cell whose reference has another engine tells nothing: two kinds of noise are in its pairs.
    """
    references = identical.reference_engines(cells)
    places: dict[NoiseKey, list[CellResult]] = {}
    for cell in cells:
        name = identical.engine(cell)
        if cell.ok and cell.workers and name is not None and references[cell.name] == name:
            places.setdefault(NoiseKey(cell.workers[-1].session, name), []).append(cell)
    learned = {place: _learned(place, here, places) for place, here in places.items()}
    return Noises(learned, references)


def _learned(
    place: NoiseKey, here: Sequence[CellResult], places: Mapping[NoiseKey, Sequence[CellResult]]
) -> LearnedNoise:
    others = [c for c in here if not identical.is_identical(c) and c.same_as is None]
    # A/A passes of this engine in every other session that is still in the records.
    alike = [
        cell
        for other, there in places.items()
        if other.engine == place.engine
        for cell in there
        if identical.is_identical(cell)
    ]
    known = [w for flag in (False, True) for w in identical.distinct(alike, earlier=flag)]
    now = [w for w in known if w.session == place.session]
    before = [w for w in known if w.session != place.session]
    learned = noise.learn(
        counted(now).passes,
        [counted(cell.workers).passes for cell in others],
        counted(before).passes,
    )
    return LearnedNoise(learned, counted([*now, *identical.distinct(others)]))
