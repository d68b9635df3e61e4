"""What a first tuning tells one of torch alone that follows it."""

import math

import pytest
from settled import settled

from cputrain.record.tuning import Race, Raced
from cputrain.sweep.tuning import earlier

pytestmark = pytest.mark.tools


def race(knob, *candidates):
    made = [
        Raced(label=str(changes), changes=changes, outcome=outcome, log_ratios=log_ratios)
        for changes, outcome, *log_ratios in candidates
    ]
    return Race(knob=knob, reference=settled().to_json(), candidates=made)


RACES = [
    race("allocator", ({"allocator": "glibc_thresholds"}, "raced", -0.01, 0.01)),
    race(
        "engine",
        ({"compile": "inductor"}, "dropped", -0.5, -0.4),
        ({"engine": "native", "attention_backend": "manual"}, "adopted", -0.7, -0.7),
        ({"attention_backend": "manual"}, "failed", 0.3),
        ({"optimizer_kernel": "foreach"}, "not tried"),
    ),
    race("threads", ({"threads": 1}, "raced", 0.4, 0.4)),
]


def test_changes_that_raced_beside_the_default_are_known_until_one_was_adopted():
    allocator, compiled = earlier.told(RACES, settled())
    assert allocator.says(settled(allocator="glibc_thresholds"), settled())
    assert compiled.says(settled(compile="inductor"), settled())
    assert compiled.value == pytest.approx(math.exp(-0.45))
    assert compiled.low < compiled.value < compiled.high < allocator.low < 1 < allocator.high
