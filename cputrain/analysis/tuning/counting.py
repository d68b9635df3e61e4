"""Which pairs of a tuning count: calm ones, taken where the CPUs lay for most of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import structs

from cputrain.analysis import places
from cputrain.analysis.places import Places, Seen
from cputrain.record.rounds import Blocks, First, Round
from cputrain.record.sample import Sample, compared_s, spoilt_sides


def blocks(own: Sample, beside: Sample, first: First) -> Blocks:
    """The pair of a worker's block and of another's beside it.

    Args:
        first: which of the two ran first; own is "cell".
    """
    noise = (own.noise, beside.noise)
    seen = places.seen(noise, tuple(beside.noise.round_trip_cpus))
    return Blocks(
        step_s=compared_s(own, beside),
        disturbed=any(spoilt_sides(own, beside)),
        trip_ns=None if seen is None else seen.trip_ns,
        on_one_core=None if seen is None else seen.on_one_core,
        moved=seen is not None and seen.is_moved,
        first=first,
    )


def learn(pairs: Iterable[Blocks]) -> Places:
    """The places of these pairs; the usual one is where most of the calm ones were taken."""
    return places.of_pairs([its for b in pairs if not b.disturbed and (its := _seen(b))])


def counts(pair: Blocks, at: Places) -> bool:
    """Whether a pair is calm and was taken at the usual place, or where is not known.

    Where most hold several places it does not matter which others were taken at.
    """
    its = _seen(pair)
    return not pair.disturbed and (its is None or at.usual in ("moved", at.at(its)))


def _seen(pair: Blocks) -> Seen | None:
    if pair.trip_ns is None:
        return None
    return Seen(pair.trip_ns, bool(pair.on_one_core), pair.moved)


def judged(ran: Round, does_count: Sequence[bool]) -> Round:
    """A round by the pairs that count."""
    own, beside = ran.unseen_s
    log_ratios = [
        math.log((pair.step_s[0] + own) / (pair.step_s[1] + beside))
        for pair, does in zip(ran.pairs, does_count, strict=True)
        if does
    ]
    not_counting = [number for number, does in enumerate(does_count) if not does]
    return structs.replace(ran, log_ratios=log_ratios, not_counting=not_counting)
