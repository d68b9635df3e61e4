"""What a machine's noise is, engine by engine: by how much identical workers differed."""

from __future__ import annotations

from dataclasses import dataclass

from cputrain.analysis import identical
from cputrain.analysis.effects import Analysis
from cputrain.analysis.noises import LearnedNoise, NoiseKey
from cputrain.analysis.paired.noise import EngineNoise


@dataclass(frozen=True)
class NoiseLine:
    """The noise of one engine in one session.

    Attributes:
        noise: None without an A/A pass.
        intervals: of A/A cells, each that ran once.
        wrong: how many of them do not hold 1.
        pairs: of all cells.
        cell_share, reference_share: of these the share whose block of that side was disturbed;
            None without a pair.
    """

    session: str
    engine: str
    noise: EngineNoise | None
    intervals: int
    wrong: int
    pairs: int
    cell_share: float | None
    reference_share: float | None


def lines(analysis: Analysis) -> list[NoiseLine]:
    """A line for each engine and session that has pairs, the newest session first."""
    learned = analysis.noises.learned
    newest = sorted(learned, key=lambda place: place.session, reverse=True)
    return [
        _line(analysis, place, learned[place]) for place in newest if learned[place].pairs.pairs
    ]


def _line(analysis: Analysis, place: NoiseKey, learned: LearnedNoise) -> NoiseLine:
    effects = [known.effect for i, known in analysis.effects.items() if _is_of(analysis, i, place)]
    ends = [(e.low, e.high) for e in effects if e.low is not None and e.high is not None]
    pairs = learned.pairs
    return NoiseLine(
        session=place.session,
        engine=place.engine,
        noise=learned.noise,
        intervals=len(ends),
        wrong=sum(not low <= 1 <= high for low, high in ends),
        pairs=pairs.pairs,
        cell_share=pairs.cell_share,
        reference_share=pairs.reference_share,
    )


def _is_of(analysis: Analysis, index: int, place: NoiseKey) -> bool:
    """Whether a cell is an A/A one that was measured there, and not by another cell."""
    cell = analysis.cells[index]
    is_there = (cell.workers[-1].session, identical.engine(cell)) == (place.session, place.engine)
    return is_there and identical.is_identical(cell) and cell.same_as is None
