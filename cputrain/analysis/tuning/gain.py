"""What the test of tuned settings says: their time over the default's, interval and verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis.paired import noise, planning
from cputrain.analysis.paired.effect import Effect, effect
from cputrain.analysis.paired.model import Pass
from cputrain.analysis.paired.noise import EngineNoise
from cputrain.analysis.paired.verdict import ONE_PAIR_TELLS, Verdict, is_beyond, verdict
from cputrain.analysis.tuning import counting
from cputrain.record.rounds import Blocks
from cputrain.record.tuning import FreshPass
from cputrain.record.worker import are_steady


@dataclass(frozen=True)
class Gain:
    """What the fresh passes of a tuning say.

    Attributes:
        effect: time of a tuned step over that of a default one.
        noise: that it was made with; None where nothing tells it.
        verdict: by the rules of every effect.
        dropped: pairs that did not count: for what others did, or as the CPUs lay elsewhere than
            for most of them.
    """

    effect: Effect
    noise: EngineNoise | None
    verdict: Verdict
    dropped: int

    @property
    def is_confirmed(self) -> bool:
        """Whether the tuned settings are surely faster."""
        return self.verdict.word == "faster"

    @property
    def is_closed(self) -> bool:
        """Whether a further pass is not called for, by how exact it is."""
        return self.effect.passes > 1 and planning.is_closed(self.effect, self.noise)


def gain(
    passes: Sequence[FreshPass], earlier: Sequence[Pass], of_other: Sequence[Pass] = ()
) -> Gain | None:
    """What the passes say, with the noise of the noisier one of two engines, as far as known.

    Args:
        passes: of the test.
        earlier: A/A passes of the twins' engine in the machine's records, of other models.
        of_other: of the other side's engine, where it is another one.

    Returns:
        None without a pair that counts, and where a side has once not proven that it trains.
    """
    at = counting.learn(b for each in passes for b in each.pairs)
    kept = [[b for b in each.pairs if counting.counts(b, at)] for each in passes]
    compared = _passes(kept)
    if not compared or any(each.status != "ok" for each in passes):
        return None
    twins = _passes([each.twins for each in passes])
    learned = noise.learn(twins, [compared], of_another=earlier)
    other = noise.learn((), [compared], of_another=of_other)
    if learned is not None and other is not None and other.worker > learned.worker:
        learned = other
    made = effect(compared, learned)
    said = verdict(made, learned)
    counted = [each for each, its in zip(passes, kept, strict=True) if its]
    if not _tells(counted) and not is_beyond(ONE_PAIR_TELLS, made):
        said = Verdict("not told", said.further_passes or 1)
    pairs = sum(len(each.pairs) for each in passes)
    return Gain(made, learned, said, pairs - made.pairs)


def _tells(passes: Sequence[FreshPass]) -> bool:
    """Whether there are several passes, or both sides of the one were steady, as for suites.

    Args:
        passes: those with pairs that count.
    """
    sides = zip(*(blocks.step_s for blocks in passes[0].pairs), strict=True)
    return len(passes) > 1 or all(map(are_steady, sides))


def _passes(blocks: Sequence[Sequence[Blocks]]) -> list[Pass]:
    kept = [
        [math.log(b.step_s[0] / b.step_s[1]) for b in each if not b.disturbed] for each in blocks
    ]
    return [Pass(tuple(ratios)) for ratios in kept if ratios]
