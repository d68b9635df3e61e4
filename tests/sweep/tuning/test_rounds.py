"""Rounds by the production code on simulated step times."""

import math

import pytest
from made_rounds import TRUE, begun
from msgspec import structs
from simulated_workers import Simulated

from cputrain.record.noise import Noise
from cputrain.run.failed import CellFailed
from cputrain.sweep.tuning.rounds import MOST_FAILED

pytestmark = pytest.mark.tools


def told(seed=0, seconds=300.0, host=Simulated, **machine):
    """What rounds say."""
    rounds, factors, workers = begun(seed, host=host, **machine)
    said = []
    began = workers.seconds
    rounds.run(began + seconds, lambda every: said.append(len(every)))
    assert not workers.alive and said == list(range(1, len(rounds.rounds) + 1))
    return rounds.rounds, factors, workers.seconds - began


def effects(factors):
    made = {}
    for factor in factors.every:
        level = factor.levels[1]
        weights = factors.weights({factor: level}, {factor: factor.usual})
        made[level.label] = factors.effects.of(weights)
    return made


def test_changes_of_a_hundredth_are_told_in_minutes():
    off, deviations, inside = [], [], 0
    for seed in range(4):
        rounds, factors, seconds = told(seed)
        assert len(rounds) >= 6 and seconds < 310
        for (name, value), ratio in TRUE.items():
            mean, deviation = effects(factors)[f"{name}={value}"]
            off.append(mean - math.log(ratio))
            deviations.append(deviation)
            inside += abs(off[-1]) <= 1.645 * deviation
    assert max(deviations) < 0.015 and inside >= 13  # of 16 intervals of 90 %
    assert math.sqrt(sum(each**2 for each in off) / len(off)) < 0.007


def test_a_round_is_on_record_as_it_was():
    rounds, _, _ = told(seconds=60.0)
    every = {name for name, _ in TRUE}
    for ran in rounds:
        assert ran.status == "ok" and set(ran.levels) <= every and len(ran.levels) > 1
        assert all(one != other for one, other in ran.levels.values())
        ratios = [math.log(pair.step_s[0] / pair.step_s[1]) for pair in ran.pairs]
        assert ran.log_ratios == pytest.approx(ratios) and not ran.not_counting
        assert ran.wall_s > 4.0


def test_rounds_end_with_the_time():
    rounds, _, seconds = told(seconds=30.0)
    assert rounds and seconds <= 31
    assert told(seconds=3.0)[0] == []


class Dying(Simulated):
    """Every fiftieth block ends its worker."""

    every = 50

    def block(self, worker):
        self.asked = getattr(self, "asked", 0) + 1
        if self.asked % self.every == 0:
            raise CellFailed("failed", "killed by signal 9")
        return super().block(worker)


def test_a_worker_that_dies_spoils_its_round_alone():
    rounds, factors, _ = told(host=Dying)
    failed = [ran for ran in rounds if ran.status == "failed"]
    assert failed and len(failed) < len(rounds)
    assert all(ran.reason == "killed by signal 9" and not ran.log_ratios for ran in failed)
    assert effects(factors)["huge_pages=madvise"][1] < 0.015


class Dead(Dying):
    every = 1


def test_rounds_that_all_fail_are_soon_given_up():
    rounds, _, _ = told(host=Dead)
    assert len(rounds) == MOST_FAILED


class Disturbed(Simulated):
    """Others take the CPUs during every seventh block, which takes 1.5 times as long."""

    def block(self, worker):
        sample = super().block(worker)
        if len(self.blocks) % 7:
            return sample
        noise = Noise(steal_share=0.5)
        return structs.replace(sample, step_s=[1.5 * s for s in sample.step_s], noise=noise)


def test_pairs_that_others_disturbed_do_not_count():
    rounds, factors, _ = told(host=Disturbed)
    assert any(ran.not_counting for ran in rounds)
    for ran in rounds:
        assert ran.not_counting == [n for n, pair in enumerate(ran.pairs) if pair.disturbed]
        assert len(ran.log_ratios) == len(ran.pairs) - len(ran.not_counting)
    assert effects(factors)["huge_pages=madvise"][0] < 0.0
