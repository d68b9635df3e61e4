"""Every rule against effects that make it true, false, and neither."""

import pytest
from made_evidence import PAIR, SECOND, effect, evidence

from cputrain.analysis.claims.combined import AllOf, AnyOf, WhichOf
from cputrain.analysis.claims.evidence import ClaimEvidence, PairResult
from cputrain.analysis.claims.quantities import Against, Speedup, StepPart, Time, fastest
from cputrain.analysis.claims.rules import HOLDS, NOT, UNTOLD, Within, near
from cputrain.analysis.paired.effect import Effect

pytestmark = pytest.mark.tools

FASTER = Within(Time(PAIR), high=1 / 1.03)
SECOND_FASTER = Within(Time(SECOND), high=1 / 1.03)


@pytest.mark.parametrize(
    ("value", "width", "word"),
    [(0.8, 1.05, HOLDS), (1.2, 1.05, NOT), (1.0, 1.01, NOT), (0.95, 1.1, UNTOLD)],
)
def test_faster_by_more_than_the_equivalence_band(value, width, word):
    assert FASTER.decide(evidence(value, width=width)).word == word


@pytest.mark.parametrize(
    ("time", "word"), [(1 / 4, HOLDS), (1 / 2.5, NOT), (1 / 8, NOT), (1 / 5, UNTOLD)]
)
def test_a_stated_factor_is_met_within_another(time, word):
    rule = near(Speedup(PAIR), 4, 1.25)
    assert rule.decide(evidence(time)).word == word
    assert rule.words() == "speed of other over baseline between 3.2 and 5"


@pytest.mark.parametrize(
    ("time", "width", "ends"),
    [(0.5, 1.1, (0.514, 0.623)), (0.9, 1.3, (0.0, 0.352)), (1.5, 1.1, (0.0, 0.0))],
)
def test_a_share_of_a_step_is_none_below_nothing(time, width, ends):
    share = StepPart(PAIR, "share", 1 / 8).of(evidence(time, width=width))
    assert (share.low, share.high) == pytest.approx(ends, abs=0.001)
    assert 0 <= share.low <= share.value <= share.high


def test_what_has_no_interval_or_was_not_measured_tells_nothing_and_says_why():
    bare = Effect(0.5, None, None, None, None, 1, 12)
    untold = FASTER.decide(ClaimEvidence({PAIR.name: PairResult(bare)}))
    assert (untold.word, untold.reason) == (UNTOLD, "no interval")
    lost = FASTER.decide(ClaimEvidence({PAIR.name: PairResult(None, "skipped: no bf16")}))
    assert lost.word == UNTOLD and lost.reason == f"{PAIR.name}: skipped: no bf16"
    assert FASTER.decide(ClaimEvidence()).pairs == (PAIR.name,)


def test_more_passes_are_forecast_by_the_end_that_the_interval_holds():
    close, far = (FASTER.decide(evidence(v, width=1.1)).further_passes for v in (0.955, 0.9))
    assert close > far >= 1
    beyond = FASTER.decide(evidence(0.9708, width=1.1))
    assert beyond.word == UNTOLD and beyond.further_passes is None


def test_all_rules_have_to_hold_and_one_that_does_not_is_enough():
    rule = AllOf((FASTER, SECOND_FASTER))
    assert rule.decide(evidence(0.8, 0.8)).word == HOLDS
    refuted = rule.decide(evidence(0.97, 1.3))
    assert refuted.word == NOT and refuted.quantity == Time(SECOND)
    assert rule.decide(evidence(0.8, 0.97)).pairs == (SECOND.name,)


def test_of_several_rules_one_that_holds_is_enough():
    rule = AnyOf((FASTER, SECOND_FASTER))
    assert rule.decide(evidence(1.3, 0.8)).word == HOLDS
    assert rule.decide(evidence(1.3, 1.3)).word == NOT
    assert rule.decide(evidence(1.3, 0.97)).word == UNTOLD


def test_of_sources_that_contradict_each_other_it_says_which_holds():
    rule = WhichOf(
        (
            ("minimal", Within(Speedup(PAIR), 1 / 1.15, 1.15)),
            ("2-3x", Within(Speedup(PAIR), 1.8, 3.3)),
        )
    )
    assert rule.decide(evidence(1.0)).reason == '"minimal" holds'
    assert rule.decide(evidence(1 / 2.5)).reason == '"2-3x" holds'
    neither = rule.decide(evidence(1 / 1.4))
    assert (neither.word, neither.reason) == (NOT, "neither source is right here")
    assert rule.decide(evidence(1 / 1.8)).word == UNTOLD


def test_the_fastest_has_to_beat_its_reference_and_all_others():
    rule = fastest(PAIR, (SECOND,))
    assert rule.decide(evidence(0.5, 0.8)).word == HOLDS
    assert rule.decide(evidence(0.8, 0.5)).word == NOT
    assert rule.decide(evidence(1.2, 1.5)).word == NOT
    assert rule.decide(evidence(0.5, 0.51)).word == UNTOLD


def test_a_ratio_of_two_effects_has_the_ends_of_both():
    ratio = Against(PAIR, SECOND).of(evidence(0.5, 0.8))
    own, other = effect(0.5), effect(0.8)
    assert (ratio.low, ratio.high) == (own.low / other.high, own.high / other.low)
