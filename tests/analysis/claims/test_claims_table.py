"""The table has all claims, each with a rule that can be made false; and all of it can run."""

import re

import pytest
from made_evidence import effect

from cputrain.analysis.claims import table
from cputrain.analysis.claims.evidence import ClaimEvidence, PairResult
from cputrain.analysis.claims.quantities import Against, Speedup, StepPart, Time
from cputrain.analysis.claims.rules import HOLDS, NOT, UNTOLD
from cputrain.engines import specs
from cputrain.errors import UsageError
from cputrain.run.names import AGAIN_BESIDE

pytestmark = pytest.mark.tools

EVERY = table.chosen([])
BY_EFFECTS = (Time, Speedup, Against, StepPart)
VALUES = (0.05, 0.1, 0.2, 0.25, 0.33, 0.5, 0.66, 0.83, 0.9, 1.0, 1.1, 1.5, 2.0, 4.0, 12.0)


def test_every_claim_is_there_once_with_a_rule_and_what_it_asks_for():
    assert [claim.id for claim in EVERY] == [f"C{number}" for number in range(1, 26)]
    for claim in EVERY:
        assert claim.sentence and claim.published and claim.rule.words()
        needed = {name for quantity in claim.rule.quantities() for name in quantity.pairs}
        assert needed <= {pair.name for pair in claim.pairs}
        assert needed or claim.demonstration, claim.id


def test_the_claims_of_the_earlier_harness_say_what_explains_them_and_show_it():
    for claim in EVERY:
        is_harness = 17 <= int(claim.id[1:]) <= 23
        assert bool(claim.explained) == is_harness, claim.id
        assert not is_harness or claim.demonstration or claim.first_step, claim.id


@pytest.mark.parametrize("claim", EVERY, ids=lambda claim: claim.id)
def test_before_anything_is_measured_no_claim_is_told(claim):
    decision = claim.rule.decide(ClaimEvidence())
    assert decision.word == UNTOLD and "not measured yet" in decision.reason


@pytest.mark.parametrize(
    "claim",
    [c for c in EVERY if all(isinstance(q, BY_EFFECTS) for q in c.rule.quantities())],
    ids=lambda claim: claim.id,
)
def test_effects_can_make_a_claim_hold_and_not_hold(claim):
    names = [pair.name for pair in claim.pairs]
    told = set()
    for first in VALUES:
        for others in VALUES:
            values = [first, *(others for _ in names[1:])]
            effects = {n: PairResult(effect(v, 1.01)) for n, v in zip(names, values, strict=True)}
            told.add(claim.rule.decide(ClaimEvidence(effects)).word)
    assert {HOLDS, NOT} <= told


def test_every_experiment_settles_and_no_two_pairs_share_a_name():
    pairs = [*table.pairs(EVERY), *table.identical(EVERY)]
    names = [pair.name for pair in pairs]
    assert len(set(names)) == len(names)
    references = {}
    for pair in pairs:
        assert specs.settle(pair.experiment) == pair.experiment
        assert references.setdefault(pair.beside, pair.reference) == pair.reference
        same = pair.experiment.identity == pair.reference.identity
        assert same == (pair.change == AGAIN_BESIDE), pair.name
        assert not re.search(r"[^\w ,.+-]", "".join(pair.values)), pair.values
    for what in table.demonstrations(EVERY):
        assert specs.settle(what.experiment) and specs.settle(what.reference)


def test_pairs_of_two_engines_are_beside_the_reference_that_has_a_pair_with_itself():
    """Only so is it known that two kinds of noise are in them."""
    again = {pair.name for pair in table.identical(EVERY)}
    for pair in table.pairs(EVERY):
        if len(pair.engines) > 1:
            assert pair.again in again
    assert [pair.engines for pair in table.identical(table.chosen(["C8"]))] == [("torch",)]


def test_some_claims_by_their_ids_and_none_that_is_not_there():
    assert [claim.id for claim in table.chosen(["c8", "C1"])] == ["C1", "C8"]
    with pytest.raises(UsageError, match="there is no claim C26; there are C1 to C25"):
        table.chosen(["C1", "C26"])
