"""The time that a tuning asks for at least."""

import pytest

from cputrain.engines import specs
from cputrain.experiment.presets import PRESETS
from cputrain.sweep.tuning import reduced, track

pytestmark = pytest.mark.tools


@pytest.mark.parametrize("name", ["wiki-24m", "llm-25m", "mlm-80m-short"])
def test_the_least_time_leaves_races_two_starts(name):
    default = specs.settle(PRESETS[name].experiment)
    starts = 2 * reduced.start_s(reduced.reduced(default))
    assert (1 - track.MOST) * track.least_s(default) >= starts
