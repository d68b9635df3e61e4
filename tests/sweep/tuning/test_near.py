"""Which change is the likeliest where no race has told one."""

import pytest

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record.tuning import Race, Raced
from cputrain.sweep.tuning import near
from cputrain.sweep.tuning.incumbent import Incumbent

pytestmark = pytest.mark.tools


def test_what_failed_is_never_the_likeliest():
    def raced(label, outcome):
        ratios = [-0.5] if outcome == "failed" else [-0.1]
        return Raced(
            label=label, changes={"huge_pages": "madvise"}, outcome=outcome, log_ratios=ratios
        )

    race = Race(knob="k", reference={}, candidates=[raced("a", "failed"), raced("b", "raced")])
    (change,) = near.changes([race], Incumbent.nothing(specs.settle(Experiment()))).values()
    assert change.label == "b"
