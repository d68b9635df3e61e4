"""All likely changes at once, by the production code on simulated step times."""

import math

import pytest
from made_races import NOTHING
from made_rounds import TRUE, begun
from msgspec import structs
from simulated_workers import Simulated

from cputrain.record.noise import Noise
from cputrain.run.failed import CellFailed
from cputrain.sweep.tuning import choice, joint, near
from cputrain.sweep.tuning.rounds import FEWEST_JOINT, MOST_JOINT

pytestmark = pytest.mark.tools

SMALL = dict.fromkeys(TRUE, 0.99)
"""None of them is told by itself in a minute."""
USELESS = dict.fromkeys(TRUE, 1.0)


def tuned(seed, true, explore_s=60.0, joint_s=100.0, host=Simulated):
    """What is chosen, what likely changes gave together, and the rounds."""
    rounds, factors, workers = begun(seed, true, host=host)
    rounds.run(workers.now() + explore_s, lambda _: None)
    until = workers.now() + joint_s
    best, effect = joint.chosen(rounds, factors, NOTHING, until, lambda _: None)
    assert not workers.alive and workers.now() <= until
    return best, effect, rounds, factors


def test_small_changes_are_chosen_together_where_none_is_told_by_itself():
    together = by_itself = 0
    for seed in range(12):
        best, effect, _, factors = tuned(seed, SMALL)
        together += len(best.adopted)
        by_itself += len(choice.chosen(factors, NOTHING).adopted)
        if effect is not None:
            low, high = effect.ratio[1:]
            assert effect.is_chosen == (high < 1 or effect.ratio[0] < near.WORTH_A_TEST)
            assert low < effect.ratio[0] < high
            assert effect.is_chosen == (len(best.adopted) > 0)
    assert together >= 12 and together >= 2 * by_itself  # of 48


def test_of_changes_that_give_nothing_few_are_chosen():
    chosen = [tuned(seed, USELESS)[0].adopted for seed in range(24)]
    assert sum(map(bool, chosen)) <= 4  # by one in twenty, 1 in the mean


class Unlike(Simulated):
    """Workers of one experiment differ by 4 %, not by the usual 1 %."""

    def start(self, experiment, within_s):
        running = super().start(experiment, within_s)
        self.true_s[running.name] *= math.exp(self.chance.gauss(0, 0.04))
        return running


def test_of_workers_that_differ_a_lot_few_are_taken_for_faster_by_chance():
    effects = [tuned(seed, USELESS, host=Unlike)[1] for seed in range(40)]
    told = [each for each in effects if each is not None]
    surely = [each for each in told if each.ratio[2] < 1]
    assert len(told) >= 20 and len(surely) <= len(told) / 5


def test_joint_rounds_have_all_that_is_likely_on_one_side_and_nothing_on_the_other():
    for seed in range(6):
        best, effect, rounds, _ = tuned(seed, TRUE)
        ran = [each for each in rounds.rounds if each.is_joint]
        if effect is None:
            assert not ran
            continue
        assert FEWEST_JOINT <= len(ran) == effect.rounds <= MOST_JOINT
        assert rounds.rounds[-len(ran) :] == ran
        for each in ran:
            assert sorted(own for own, _ in each.levels.values()) == sorted(effect.labels)
        assert {each.label for each in best.adopted} == set(
            effect.labels if effect.is_chosen else []
        )


def test_without_time_for_them_each_change_is_chosen_by_itself():
    sure = {("huge_pages", "madvise"): 0.9, ("pinning", "close"): 1.0}
    best, effect, rounds, _ = tuned(0, sure, explore_s=100.0, joint_s=5.0)
    assert effect is None and not any(each.is_joint for each in rounds.rounds)
    assert [each.label for each in best.adopted] == ["huge_pages=madvise"]


def test_what_does_not_show_in_what_is_run_is_chosen_by_itself():
    rounds, factors, workers = begun(3, {("huge_pages", "madvise"): 0.97})
    rounds.run(workers.now() + 60, lambda _: None)
    (factor,) = factors.every
    rounds.shows[factor.levels[1]] = False
    _, effect = joint.chosen(rounds, factors, NOTHING, workers.now() + 100, lambda _: None)
    assert effect is None


class Taken(Simulated):
    """Others take the CPUs during every block of some seconds."""

    busy_from = busy_until = math.inf

    def block(self, worker):
        sample = super().block(worker)
        if not self.busy_from <= self.seconds < self.busy_until:
            return sample
        noise = Noise(steal_share=0.5)
        return structs.replace(sample, step_s=[1.5 * s for s in sample.step_s], noise=noise)


def test_rounds_in_which_others_had_the_cpus_are_taken_again():
    rounds, factors, workers = begun(0, SMALL, host=Taken)
    rounds.run(workers.now() + 60, lambda _: None)
    workers.busy_from, workers.busy_until = workers.now() + 10, workers.now() + 60
    _, effect = joint.chosen(rounds, factors, NOTHING, workers.now() + 200, lambda _: None)
    ran = [each for each in rounds.rounds if each.is_joint]
    assert effect.rounds == MOST_JOINT == sum(bool(each.log_ratios) for each in ran)
    assert len(ran) > MOST_JOINT and effect.ratio[0] < 1.0


class Dying(Simulated):
    """Workers of huge pages die once rounds of all likely changes have begun."""

    dies = False

    def start(self, experiment, within_s):
        if self.dies and experiment.flat()["huge_pages"] == "madvise":
            raise CellFailed("failed", "killed by signal 9")
        return super().start(experiment, within_s)


def test_where_its_workers_die_nothing_is_told_of_all_together():
    rounds, factors, workers = begun(0, {("huge_pages", "madvise"): 0.97}, host=Dying)
    rounds.run(workers.now() + 60, lambda _: None)
    workers.dies = True
    _, effect = joint.chosen(rounds, factors, NOTHING, workers.now() + 100, lambda _: None)
    assert effect is None
    ran = [each for each in rounds.rounds if each.is_joint]
    assert ran and all(each.reason == "killed by signal 9" for each in ran)
    assert not workers.alive
