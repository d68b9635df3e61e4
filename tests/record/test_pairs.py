"""What a worker's pairs say by themselves."""

import math

import msgspec
import pytest
from settled import settled

from cputrain.record.worker import WorkerRecord

pytestmark = pytest.mark.tools


def block(step_s, disturbed=False):
    return {"step_s": [step_s, step_s, 9.0], "loss": [1.0], "disturbed": disturbed}


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


def test_a_pair_s_ratio_is_of_median_steps():
    made = worker((2.0, 1.0, False, False))
    assert made.log_ratio(made.pairs[0]) == pytest.approx(math.log(2))


def test_no_ratio_is_a_million():
    with pytest.raises(msgspec.ValidationError, match="1e6 times"):
        worker((2e6, 1.0, False, False))
