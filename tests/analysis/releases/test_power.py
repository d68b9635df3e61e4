"""How often a slowdown of 5 % is told, and one that is not there, by the program's own rules."""

import pytest
from made_comparison import record, taken

from cputrain.analysis.releases.compared import compare

pytestmark = pytest.mark.tools

NOISE = (0.008, 0.04)
"""Of torch's workers and blocks on a shared host of two CPUs."""
TRIES = 20
MOST_PASSES = 12


def verdict(ratio, seed):
    """Passes until the ratio is told, as `sweep.releases.passes` takes them."""
    pairs = []
    for number in range(1, MOST_PASSES + 1):
        if number <= 2:
            pairs.append(taken(1.0, number=number, sides=(0, 0), seed=seed, noise=NOISE))
        pairs.append(taken(ratio, number=number, seed=seed, noise=NOISE))
        (cell,) = compare(record(pairs)).cells
        if not cell.is_open:
            break
    return cell.verdict.word


def test_a_slowdown_of_five_percent_is_told_in_nineteen_of_twenty_tries():
    assert [verdict(1.05, seed) for seed in range(TRIES)].count("slower") >= 19


def test_identical_sides_are_told_to_differ_in_one_of_twenty_tries_at_most():
    said = [verdict(1.0, seed) for seed in range(TRIES)]
    assert len(said) - said.count("same") - said.count("not told") <= 1
