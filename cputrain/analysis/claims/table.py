"""All claims, in the order of their numbers, and what is run to decide them."""

from __future__ import annotations

from collections.abc import Sequence

from cputrain.analysis.claims import made, of_harness, of_settings, of_sizes
from cputrain.analysis.claims.claim import Claim, ClaimPair, Demonstration
from cputrain.errors import UsageError

CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for claim in sorted(
        (*of_sizes.CLAIMS, *of_settings.CLAIMS, *of_harness.CLAIMS),
        key=lambda claim: int(claim.id[1:]),
    )
}
"""By id."""


def chosen(ids: Sequence[str]) -> list[Claim]:
    """The claims of these ids, all where there are none.

    Raises:
        UsageError: there is no such claim.
    """
    wanted = [id.upper() for id in ids]
    for id in wanted:
        if id not in CLAIMS:
            known = list(CLAIMS)
            raise UsageError(f"there is no claim {id}; there are {known[0]} to {known[-1]}")
    return [claim for claim in CLAIMS.values() if not wanted or claim.id in wanted]


def pairs(claims: Sequence[Claim]) -> list[ClaimPair]:
    """The pairs of some claims, each once, those with the same reference one after the other."""
    every = dict.fromkeys(pair for claim in claims for pair in claim.pairs)
    order = list(dict.fromkeys(pair.beside for pair in every))
    return sorted(every, key=lambda pair: order.index(pair.beside))


def identical(claims: Sequence[Claim]) -> list[ClaimPair]:
    """Pairs of the same experiment that tell the noise of the engines of these claims."""
    engines = {engine for pair in pairs(claims) for engine in pair.engines}
    usual, *others = made.IDENTICAL
    return [usual, *(pair for pair in others if engines.intersection(pair.engines))]


def demonstrations(claims: Sequence[Claim]) -> list[Demonstration]:
    """What runs altered for some claims."""
    return [claim.demonstration for claim in claims if claim.demonstration is not None]
