"""How long a machine is measured before its usual speed is known: intervals hold the truth."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from cputrain.analysis.machines import ratios, usual, wander
from cputrain.analysis.machines.usual import References

pytestmark = pytest.mark.tools

TRIES = 300
SD, APART_S = 0.12, 10.0
CELL = "SeqLen/256"


def machine(rng, together, minutes):
    """A machine that drifts; two of its minutes hang together so much."""
    each = together ** (APART_S / 60)
    points, now = [], rng.standard_normal()
    for i in range(int(minutes * 60 / APART_S) + 1):
        points.append((1e9 + APART_S * i, 0.04 * math.exp(SD * now)))
        now = each * now + math.sqrt(1 - each**2) * rng.standard_normal()
    its = wander.learned({"s": points})
    known = usual._reference({"s": points}, its, its)
    return SimpleNamespace(name="m", references=References({"r": known}, {CELL: "r"}, its))


def ratio(first, other):
    """Of one experiment with an effect of 1, which is surely known."""
    row = dict.fromkeys(("effect", "effect_low", "effect_high"), 1.0)
    cell = SimpleNamespace(name=CELL, step_s=0.04), row
    pair = SimpleNamespace(suite="SeqLen", engine="torch", counts=True, first=cell, other=cell)
    (line,) = ratios.by_suite(first, other, [pair])
    return line


@pytest.mark.parametrize("together", [0.3, 0.6, 0.7])
@pytest.mark.parametrize("minutes", [3, 8, 15, 20])
def test_the_intervals_that_are_told_hold_the_truth(minutes, together):
    """The shortest tell none, rather than some that are too narrow."""
    rng = np.random.default_rng(4)
    lines = [ratio(*(machine(rng, together, minutes) for _ in "ab")) for _ in range(TRIES)]
    told = [line for line in lines if line.low is not None]
    assert bool(told) == (minutes >= usual.LEAST_S / 60)
    assert sum(not line.low <= 1 <= line.high for line in told) <= 0.01 * TRIES
    if told:
        assert np.mean([line.low <= 1 <= line.high for line in told]) >= 0.97
