"""Ratios of two sides, cell by cell, with intervals, verdicts, and what else differs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cputrain.analysis import places
from cputrain.analysis.cell_effect import cell_effect
from cputrain.analysis.counted import counted
from cputrain.analysis.paired import noise, planning
from cputrain.analysis.paired.effect import Effect
from cputrain.analysis.paired.noise import EngineNoise
from cputrain.analysis.paired.verdict import Verdict, widened
from cputrain.analysis.places import Places
from cputrain.analysis.releases import causes, losses, mean
from cputrain.analysis.releases.causes import Difference
from cputrain.analysis.releases.mean import Mean
from cputrain.analysis.slowdowns import Slowdowns
from cputrain.record.cell import CellKey
from cputrain.record.releases import ReleasesRecord, TakenPair
from cputrain.record.worker import WorkerRecord, step_s

UNTOLD = Verdict("not told")
DISTURBED = "others had the CPUs during each of its pairs: see python3 bench.py doctor"
MOST_LOST = 2
"""Passes without a number, one after the other, after which a row gets no further one."""


@dataclass(frozen=True)
class ComparedCell:
    """One cell on one side, beside the reference's.

    Attributes:
        key: of the cell.
        place: of the side, from 1.
        step_s: medians of the reference's steps and of its own; None without a number.
        effect: time of its step over the reference's; None for the reason in `why`.
        in_mean: the same, of a single pass with what the worst A/A pass was off by.
        verdict: by the rules of every effect (`cell_effect`).
        off_by: ratio that the effect may be off by, both ways, beyond its interval.
        doubts: why it may be; and of passes that gave no number, how many and why.
        losses: how they agree, in words.
        passes_of_step: time of forward, backward and update over the reference's, where known.
        differences: in versions and in what was in force.
        is_open: whether a further pass is called for.
    """

    key: CellKey
    place: int
    step_s: tuple[float, float] | None = None
    effect: Effect | None = None
    in_mean: Effect | None = None
    verdict: Verdict = UNTOLD
    off_by: float = 1.0
    doubts: tuple[str, ...] = ()
    why: str | None = None
    losses: str = ""
    passes_of_step: tuple[tuple[str, float], ...] = ()
    differences: tuple[Difference, ...] = ()
    dropped: int = 0
    is_open: bool = False

    @property
    def name(self) -> str:
        """Suite and cell."""
        return f"{self.key.suite}/{self.key.name}"


@dataclass(frozen=True)
class Compared:
    """What a comparison says.

    Attributes:
        cells: side by side, in the order in which they were first taken.
        noises: what A/A pairs say, by engine; None where there was none that counts.
        means: geometric means by place of the side: all cells first, then each suite of several.
        versions: packages whose versions differ, and these by side; None is not there.
    """

    cells: tuple[ComparedCell, ...]
    noises: dict[str, EngineNoise | None]
    means: dict[int, dict[str, Mean]]
    versions: dict[str, tuple[str | None, ...]]


def compare(record: ReleasesRecord) -> Compared:
    """What a comparison says, as far as it has come."""
    groups: dict[tuple[str, int], list[TakenPair]] = {}
    for pair in record.taken:
        if not pair.is_identical:
            groups.setdefault((_name(pair), pair.sides[1]), []).append(pair)
    at = places.learn(pair.worker for pair in record.taken if pair.worker is not None)
    noises = _noises(record.taken, groups, at)
    cells = tuple(_cell(pairs, noises, at) for pairs in groups.values())
    means = {
        place: mean.by_suite(
            [(c.key.suite, c.in_mean, c.off_by) for c in cells if c.place == place and c.in_mean],
            _common(record.taken),
        )
        for place in range(1, len(record.sides))
    }
    names = dict.fromkeys(name for side in record.sides for name in sorted(side.installed))
    rows = {name: tuple(side.installed.get(name) for side in record.sides) for name in names}
    return Compared(cells, noises, means, {n: row for n, row in rows.items() if len({*row}) > 1})


def _name(pair: TakenPair) -> str:
    return f"{pair.key.suite}/{pair.key.name}"


def _engine(worker: WorkerRecord) -> str:
    return str(worker.experiment["runtime"]["engine"])


def _noises(
    taken: Sequence[TakenPair], groups: dict[tuple[str, int], list[TakenPair]], at: Places
) -> dict[str, EngineNoise | None]:
    """By engine: from its A/A pairs, and from how cells with several passes scatter."""
    workers = [pair.worker for pair in taken if pair.worker is not None]
    alike = {pair.worker.id for pair in taken if pair.worker is not None and pair.is_identical}
    learned = {}
    for engine in dict.fromkeys(map(_engine, workers)):
        own = {worker.id for worker in workers if _engine(worker) == engine}
        identical = counted(w for w in workers if w.id in own & alike)
        cells = (
            counted(
                (p.worker for p in pairs if p.worker is not None and p.worker.id in own), at
            ).passes
            for pairs in groups.values()
        )
        learned[engine] = noise.learn(identical.passes, [passes for passes in cells if passes])
    return learned


def _common(taken: Sequence[TakenPair]) -> float:
    """What A/A pairs are off by on average: a logarithm, the largest of the engines'; 0 without."""
    by_engine: dict[str, list[float]] = {}
    for pair in taken:
        if pair.is_identical and pair.worker is not None:
            medians = [each.median for each in counted([pair.worker]).passes]
            by_engine.setdefault(_engine(pair.worker), []).extend(medians)
    return max((abs(statistics.mean(own)) for own in by_engine.values() if own), default=0.0)


def _cell(
    pairs: Sequence[TakenPair], noises: dict[str, EngineNoise | None], at: Places
) -> ComparedCell:
    """One cell on one side; what some passes have proven stays a number where others failed."""
    proven = [pair for pair in pairs if pair.status == "ok"]
    lost = [pair for pair in pairs if pair.status != "ok"]
    if not lost:
        return _proven(proven, noises, at)
    why = f"{lost[-1].status}: {lost[-1].reason}"
    if not proven:
        return ComparedCell(pairs[0].key, pairs[0].sides[1], why=why)
    known = _proven(proven, noises, at)
    said = f"{len(lost)} of {len(pairs)} passes gave no number: {why}"
    return replace(
        known,
        why=None if known.why is None else f"{known.why}; {said}",
        doubts=(*known.doubts, said),
        is_open=known.is_open and any(pair.status == "ok" for pair in pairs[-MOST_LOST:]),
    )


def _proven(
    pairs: Sequence[TakenPair], noises: dict[str, EngineNoise | None], at: Places
) -> ComparedCell:
    workers = [pair.worker for pair in pairs if pair.worker is not None]
    references = [pair.reference for pair in pairs if pair.reference is not None]
    differences = tuple(causes.differences(references, workers))
    agreed = losses.agreement(pairs)
    beside = [p.reference.median_s for worker in workers for p in worker.pairs]
    own_s = step_s(workers)
    assert own_s is not None
    known = ComparedCell(
        pairs[0].key,
        pairs[0].sides[1],
        step_s=(statistics.median(beside), own_s),
        why=agreed.why_no_ratio,
        losses=agreed.words,
        differences=differences,
    )
    pairs_ = counted(workers, at)
    if agreed.why_no_ratio is not None:
        return known
    if not pairs_.passes:
        return replace(known, why=DISTURBED, dropped=pairs_.dropped, is_open=True)
    noise_ = noises.get(_engine(workers[0]))
    its = cell_effect(workers, pairs_, noise_, at, Slowdowns(at.usual))
    is_closed = its.effect.passes > 1 and planning.is_closed(its.effect, noise_)
    is_doubted = its.off_by > 1 and its.verdict.word == "not told"
    return replace(
        known,
        effect=its.effect,
        in_mean=widened(its.effect, noise_, 1.0),
        verdict=its.verdict,
        off_by=its.off_by,
        doubts=its.doubts,
        passes_of_step=causes.passes_of_step(workers),
        dropped=pairs_.dropped,
        is_open=not is_closed or is_doubted,
    )
