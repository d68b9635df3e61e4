"""What a worker's pairs say by themselves."""

import math

import msgspec
import pytest
from settled import settled

from cputrain.record.answers import Peak, Sampled, SoFar
from cputrain.record.sample import Sample
from cputrain.record.worker import WorkerRecord

pytestmark = pytest.mark.tools


def block(step_s, disturbed=False, **noise):
    return {
        "step_s": [step_s, step_s, 9.0],
        "loss": [1.0],
        "disturbed": disturbed,
        "noise": noise,
    }


def round_trips(before, after, *cpus):
    ends = {"round_trip_before_ns": before, "round_trip_after_ns": after}
    return ends | {"round_trip_cpus": list(cpus)}


def at_once(before, after, *cpus):
    ratios = {"at_once_before": before, "at_once_after": after}
    return round_trips(84, 84, *cpus) | ratios


def worker(*pairs):
    """A worker with pairs of blocks: own seconds, the reference's, whether each was disturbed."""
    experiment = settled()
    plain = {
        "id": "1",
        "session": "s",
        "run": "r",
        "started": "now",
        "mode": "full",
        "machine": "here",
        "experiment": experiment.to_json(),
        "identity": "i",
        "samples": [block(own, hit) for own, _, hit, _ in pairs],
        "pairs": [
            {"sample": number, "reference": block(other, hit), "first": "cell"}
            for number, (_, other, _, hit) in enumerate(pairs)
        ],
    }
    return msgspec.convert(plain, WorkerRecord)


def test_the_ratio_is_the_median_over_pairs_that_count():
    calm = (2.0, 1.0, False, False), (3.3, 1.1, False, False), (1.0, 1.0, False, False)
    assert worker(*calm).paired_ratio == pytest.approx(2)
    held_up = (50.0, 1.0, True, False), (50.0, 1.0, False, True)
    assert worker(*calm, *held_up).paired_ratio == pytest.approx(2)
    assert worker(*held_up).paired_ratio is worker().paired_ratio is None


@pytest.mark.parametrize(
    ("own", "other", "spoilt"),
    [
        ({"lost_share": 0.2}, {"lost_share": 0.05}, (True, False)),
        ({"lost_share": 0.05}, {"lost_share": 0.2}, (False, True)),
        # As much of both: their ratio stays what it is, whatever the flag of each says.
        ({"lost_share": 0.2, "disturbed": True}, {"lost_share": 0.15}, (False, False)),
        ({"lost_share": 0.3}, {"lost_share": 0.28}, (True, True)),  # too much of it
        # In shares of neither, or of one of them: the flags count.
        ({"disturbed": True}, {"lost_share": 0.0}, (True, False)),
        # The hypervisor's other guests, of whom threads that wait know nothing.
        ({"steal_share": 0.12}, {"steal_share": 0.0}, (True, False)),
        ({"steal_share": 0.04}, {"steal_share": 0.12}, (False, False)),
        ({"steal_share": 0.3}, {"steal_share": 0.3}, (True, True)),
        # The hypervisor moved a CPU: during a block, or between the two of them.
        (round_trips(57, 345), round_trips(57, 57), (True, True)),
        (round_trips(57, 57), round_trips(345, 345), (True, True)),
        (round_trips(57, 80), round_trips(50, 60), (False, False)),
        (round_trips(345, 345), round_trips(345, 350), (False, False)),
        (round_trips(57, None), {}, (False, False)),
        # Of other masks: neighbours beside CPUs of two sockets, and one that moved.
        (round_trips(30, 30, 0, 1), round_trips(300, 300, 0, 63), (False, False)),
        (round_trips(30, 90, 0, 1), round_trips(300, 300, 0, 63), (True, True)),
        # To one core, or from it: the round trips hardly tell.
        (at_once(1.0, 1.75), at_once(1.0, 1.0), (True, True)),
        (at_once(1.0, 1.0), at_once(1.75, 1.75), (True, True)),
        (at_once(1.75, 1.75), at_once(1.7, 1.8), (False, False)),
        (at_once(1.0, None), at_once(0.9, 1.2), (False, False)),
        (at_once(1.0, 1.0, 0, 1), at_once(1.75, 1.75, 0, 63), (False, False)),
        # Within a pair of which a block is long: it was in several places, as all are there.
        (round_trips(57, 345) | {"expected_s": 0.4}, round_trips(57, 57), (True, True)),
        (round_trips(57, 345) | {"expected_s": 0.6}, round_trips(57, 57), (False, False)),
        (round_trips(57, 345), round_trips(345, 345) | {"expected_s": 0.6}, (False, False)),
        # By what it was expected to take: one that sees what it took would drop fast blocks.
        (round_trips(57, 345) | {"wall_s": 0.6, "expected_s": 0.4}, {}, (True, True)),
        (at_once(1.0, 1.75) | {"expected_s": 0.6}, at_once(1.0, 1.0), (False, False)),
        # Elsewhere for all of it than for all of the other.
        (round_trips(57, 57) | {"expected_s": 0.6}, round_trips(345, 345), (True, True)),
        (at_once(1.0, 1.0) | {"expected_s": 0.6}, at_once(1.75, 1.75), (True, True)),
    ],
)
def test_a_pair_is_spoilt_by_what_others_took_of_one_block_more_than_of_the_other(
    own, other, spoilt
):
    made = worker((2.0, 1.0, False, False))
    mine, beside = (msgspec.convert(block(1.0, **words), Sample) for words in (own, other))
    pair = msgspec.structs.replace(made.pairs[0], reference=beside)
    made = made.but(samples=[mine], pairs=[pair])
    assert made.disturbed_sides(pair) == spoilt
    assert (made.paired_ratio is None) == any(spoilt)


def test_a_worker_is_disturbed_where_a_pair_of_it_does_not_count():
    calm, held = (2.0, 1.0, False, False), (50.0, 1.0, False, True)
    assert not worker(calm).is_disturbed and worker(calm, held).is_disturbed
    # What both sides lost alike leaves their ratio as it is.
    own = msgspec.structs.replace(held_up([1.0], 0.1, lost_share=0.1), disturbed=True)
    assert not with_pair(own, held_up([1.0], 0.1, lost_share=0.1)).is_disturbed
    assert worker().but(samples=[own]).is_disturbed


def test_a_pair_s_ratio_is_of_median_steps():
    made = worker((2.0, 1.0, False, False))
    assert made.log_ratio(made.pairs[0]) == pytest.approx(math.log(2))


def held_up(step_s, *held_up_s, **noise):
    plain = {"step_s": step_s, "loss": [1.0], "held_up_s": held_up_s, "noise": noise}
    return msgspec.convert(plain, Sample)


def with_pair(own, reference):
    made = worker((1.0, 1.0, False, False))
    return made.but(
        samples=[own], pairs=[msgspec.structs.replace(made.pairs[0], reference=reference)]
    )


def test_a_pair_s_ratio_leaves_out_what_others_held_up():
    own = held_up([2.5, 2.0, 3.0], 0.5, 0.0, 1.0)
    other = held_up([1.0, 1.25, 1.5], 0.0, 0.25, 0.5)
    assert with_pair(own, other).paired_ratio == pytest.approx(2)
    assert own.median_s == 2.5  # seconds leave out nothing
    # Where one side does not tell, whole steps are compared.
    assert with_pair(own, held_up([1.0, 1.25, 1.5])).paired_ratio == pytest.approx(2)
    assert with_pair(held_up([2.5, 2.0, 3.0]), other).paired_ratio == pytest.approx(2)
    # More than half of a step is not believed.
    assert held_up([1.0], 0.9).net_s == 0.5


@pytest.mark.parametrize(
    ("lost", "held", "lost_beside", "spoilt"),
    [
        (0.2, 0.2, 0.0, (False, False)),  # it is left out
        (0.2, 0.05, 0.0, (True, False)),  # most of it is not
        (0.3, 0.3, 0.0, (True, False)),  # too much of it, left out or not
        (0.0, 0.0, 0.2, (False, True)),
    ],
)
def test_what_a_pair_leaves_out_does_not_spoil_it(lost, held, lost_beside, spoilt):
    own = held_up([1.0], held, lost_share=lost, wall_s=1.0)
    other = held_up([1.0], 0.0, lost_share=lost_beside, wall_s=1.0)
    made = with_pair(own, other)
    assert made.disturbed_sides(made.pairs[0]) == spoilt


def test_what_was_held_up_is_told_of_each_step():
    with pytest.raises(msgspec.ValidationError, match="held_up_s is not as long as step_s"):
        held_up([1.0, 1.0], 0.1)


def test_no_ratio_is_a_million():
    with pytest.raises(msgspec.ValidationError, match="1e6 times"):
        worker((2e6, 1.0, False, False))


def test_a_sample_leaves_the_reason_for_no_reference():
    alone = worker().but(reasons={"reference": "a first step is timed"})
    peak = Peak(reasons={"torchrun_peak_rss_bytes": "one process"})
    so_far = SoFar(first_loss=5.5, steps_done=1, training_s=2.0, optimizer_state_bytes=0)
    sample = msgspec.convert(block(2.0), Sample)
    after = alone.with_sample(Sampled(sample=sample, peak=peak, so_far=so_far))
    assert after.reasons == alone.reasons | peak.reasons
    assert len(after.samples) == 1
