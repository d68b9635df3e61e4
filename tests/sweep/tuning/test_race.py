"""Races by the production code on simulated step times: who wins, who is ended early."""

import random
from dataclasses import replace

import pytest
from allocator_races import BEST, NAMES, candidate, run
from settled import settled
from simulated_workers import Simulated

from cputrain.run.failed import CellFailed
from cputrain.sweep.tuning import reduced
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.race import MOST, TURNS, Racing

pytestmark = pytest.mark.tools

SIMULATIONS = 100


@pytest.mark.parametrize("step_s", [0.2, 2.0])
def test_the_fastest_wins(step_s):
    won = [run((1.04, 0.88, 0.97, 1.1), seed, step_s)[0].winner for seed in range(SIMULATIONS)]
    right = sum(w is not None and w.label == "allocator=jemalloc" for w in won)
    assert right >= 0.95 * SIMULATIONS


def test_the_faster_of_two_near_ones_is_not_ended_by_two_blocks():
    ratios = (0.85, 0.9, 1.1)
    chosen = [run(ratios, seed)[0].winner for seed in range(SIMULATIONS)]
    assert sum(w is not None and w.label == f"allocator={NAMES[0]}" for w in chosen) >= 95
    noisy = [run(ratios, seed, noise=0.06)[0] for seed in range(SIMULATIONS)]
    assert sum(len(ran.race.candidates[0].step_s) > 2 for ran in noisy) >= 95
    won = [ran.winner.label for ran in noisy if ran.winner is not None]
    assert won.count(f"allocator={NAMES[0]}") >= 70  # by a race of eight turns


def test_where_time_is_short_the_slower_half_goes_after_two_blocks():
    ran, workers = run((0.9, 0.9, 0.9, 0.9), step_s=1.0, until=55.0)
    ended = [c for c in ran.race.candidates if c.reason == "in the slower half"]
    assert [len(c.step_s) for c in ended].count(2) == 2 and workers.seconds < 60.0


def test_nobody_starts_without_time_for_blocks_to_be_told_by():
    """Of four candidates that are warm after 6 s each, and turns of some seconds."""
    ran, workers = run((0.9,) * 4, step_s=1.0, until=45.0)
    started = [c for c in ran.race.candidates if c.outcome != "not tried"]
    assert 1 < len(started) < 4 and min(len(c.step_s) for c in started) >= 2
    assert len(ran.race.order) >= TURNS and workers.seconds < 50.0
    (late,) = {c.reason for c in ran.race.candidates if c.outcome == "not tried"}
    assert late == "no time was left beside the others' blocks"


def test_what_gives_nothing_is_ended_before_the_last_rung():
    blocks = [len(run((1.05,), seed)[0].race.candidates[0].step_s) for seed in range(60)]
    assert sorted(blocks)[30] <= 4


def test_where_nothing_differs_the_reference_mostly_stays():
    won = [run((1.0,) * 4, seed)[0].winner for seed in range(SIMULATIONS)]
    assert sum(w is not None for w in won) <= 0.1 * SIMULATIONS


def test_what_may_not_be_gone_on_with_does_not_win_however_fast():
    workers = Simulated(lambda e: 0.1 if e != BEST else 0.2)
    racing = Racing(workers, random.Random(0), workers.now, lambda: 1 << 50)
    beside = workers.start(BEST, 1e9)
    can = [candidate("jemalloc")]
    ran = racing.race("k", BEST, beside, can, 1e9, lambda e: e, wins=lambda e: e == BEST)
    assert ran.winner is None and ran.fastest is beside and workers.alive == {beside.name}
    assert [raced.outcome for raced in ran.race.candidates] == ["raced"]


def test_who_is_far_slower_takes_no_block():
    ran, workers = run((25.0, 0.9))
    slow, fast = ran.race.candidates
    assert (slow.outcome, slow.step_s) == ("failed", [])
    assert slow.reason.startswith("timed out: after ")
    assert fast.outcome == "adopted"
    # What it was given to be warm: not 25 times what the others took.
    assert workers.seconds < 60
    (slow,) = run((3.0,), step_s=0.5)[0].race.candidates
    assert (slow.outcome, slow.step_s) == ("dropped", [])


def test_who_is_slower_by_half_is_ended_after_a_block():
    (slow, _fast) = run((1.8, 0.9), noise=0.01)[0].race.candidates
    assert slow.outcome == "dropped" and len(slow.step_s) == 1


def test_who_does_not_fit_beside_the_others_races_after_them():
    ran, workers = run((0.9,) * 4, free=0)
    assert len(ran.race.candidates) == 1 and len(ran.waiting) == 3
    assert workers.most_alive == 2 <= MOST


def test_a_race_ends_when_its_time_is_up():
    ran, workers = run((0.99,) * 4, step_s=1.0, until=40.0)
    assert workers.seconds < 45.0
    assert ran.race.candidates[-1].outcome in ("not tried", "raced", "dropped")


def test_a_late_race_goes_on_while_its_fastest_looks_faster():
    def races(latest, ratio, noise):
        times = {"step_s": 1.0, "until": 20.0, "latest": latest, "noise": noise}
        return [run((ratio,), seed, **times) for seed in range(40)]

    ended, went_on = races(20.0, 0.9, 0.08), races(40.0, 0.9, 0.08)
    assert all(workers.seconds < 45.0 for _, workers in went_on)
    won = [sum(ran.winner is not None for ran, _ in each) for each in (ended, went_on)]
    assert won[1] > 1.5 * won[0]
    # Where nothing looks faster, the time is for other knobs.
    both = races(20.0, 1.2, 0.02), races(40.0, 1.2, 0.02)
    turns = [[len(ran.race.order) for ran, _ in each] for each in both]
    assert turns[0] == turns[1]


def test_who_runs_whole_steps_beside_parts_of_them_needs_that_much_more_time():
    """Blocks of 8 s beside others of 1: four turns take longer than 30 s."""
    best = settled(batch_size=1, grad_accum=8, micro_batches=1)
    workers = Simulated(lambda e: 8.0, noise=0.0)
    racing = Racing(workers, random.Random(0), workers.now, lambda: 1 << 50)
    whole = TuningCandidate("whole", {}, best.but(micro_batches=None))
    beside = workers.start(best, 1e9)
    assert 7 < beside.expected_block_s(whole.experiment) < 9
    ran = racing.race("engine", best, beside, [whole], workers.seconds + 30, lambda e: e)
    assert [c.outcome for c in ran.race.candidates] == ["not tried"] and not workers.blocks


def test_a_machine_that_starts_workers_fast_compiles_no_faster_for_that():
    eager = settled()
    fast = Simulated(lambda e: 0.01, start_s=0.5).start(eager, 1e9)
    slow = Simulated(lambda e: 0.01, start_s=30.0).start(eager, 1e9)
    assert fast.slowness < 0.5 and slow.slowness > 2
    compiled = eager.but(compile="inductor")
    assert fast.expected_s(compiled) - fast.expected_s(eager) == reduced.compile_s(compiled) > 20
    assert slow.expected_s(compiled) - slow.expected_s(eager) > 40


def test_a_race_all_of_whose_candidates_die_ends_with_the_reference():
    class Dying(Simulated):
        def block(self, worker):
            if worker.experiment != BEST and worker in self.blocks:
                self.alive.remove(worker.name)
                raise CellFailed("failed", "killed by signal 9")
            return super().block(worker)

    ran, _ = run((0.9, 0.95), host=Dying)
    assert ran.winner is None and ran.fastest.experiment == BEST
    assert [c.outcome for c in ran.race.candidates] == ["failed"] * 2
    assert [len(c.step_s) for c in ran.race.candidates] == [1, 1]


def test_a_ratio_is_of_one_rotation_and_the_order_is_on_record():
    ran, _ = run((0.9, 1.0), noise=0.0)
    (first, *_), order = ran.race.candidates, ran.race.order
    assert len(ran.race.step_s) == len(order) and all(-1 in each for each in order)
    assert len({tuple(each) for each in order}) > 1
    assert first.log_ratios[0] == pytest.approx(-0.105, abs=0.03)


def test_who_runs_more_tokens_of_a_step_is_not_far_slower_for_that():
    best = settled(batch_size=1, grad_accum=8, micro_batches=1)
    changes = {"batch_size": 4, "grad_accum": 2}
    workers = Simulated(lambda e: 0.9 if e.training.batch_size == 4 else 1.0)
    racing = Racing(workers, random.Random(0), workers.now, lambda: 1 << 50)
    ran = racing.race(
        "micro-batch",
        best,
        workers.start(best, 1e9),
        [TuningCandidate("batch_size=4, grad_accum=2", changes, best.but(**changes))],
        1e9,
        lambda e: e,
    )
    (raced,) = ran.race.candidates
    assert raced.warm_step_s > 2 * 1.0 / 8 and raced.outcome == "adopted"


def test_who_is_far_slower_by_its_warm_up_takes_no_block():
    ran, _ = run((3.0, 0.8), step_s=0.5, noise=0.01)
    slow, fast = ran.race.candidates
    assert slow.outcome == "dropped" and "by its fastest step before the race" in slow.reason
    assert not slow.step_s and fast.outcome == "adopted"


def test_who_was_held_up_while_it_warmed_up_is_not_far_slower_for_that():
    class Busy(Simulated):
        """Others have the CPUs while the candidates warm up."""

        def start(self, experiment, within_s):
            running = super().start(experiment, within_s)
            return running if experiment == BEST else replace(running, warm_step_s=0.4)

    ran, _ = run((0.8, 1.3), step_s=0.003, noise=0.01, host=Busy)
    assert all(raced.step_s for raced in ran.race.candidates)
    assert ran.race.candidates[0].outcome == "adopted"
