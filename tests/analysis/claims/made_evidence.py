"""Effects of pairs as they might have been measured."""

from cputrain.analysis.claims.evidence import ClaimEvidence, PairResult
from cputrain.analysis.claims.made import BASE, pair
from cputrain.analysis.paired.effect import Effect

PAIR = pair("baseline", BASE, "other", n_layer=2)
SECOND = pair("baseline", BASE, "second", n_layer=3)


def effect(value, width=1.05, passes=2):
    """An effect whose interval reaches from value / width to value * width."""
    low, high = value / width, value * width
    return Effect(value, low, high, low, high, passes, 12 * passes)


def evidence(value=None, second=None, **others):
    """What is known of `PAIR` and `SECOND`."""
    known = {PAIR: value, SECOND: second}
    effects = {p.name: PairResult(effect(v, **others)) for p, v in known.items() if v is not None}
    return ClaimEvidence(effects)
