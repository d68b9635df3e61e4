"""How far a run has come, in one line."""

import datetime

import pytest
from msgspec import structs

from cputrain.record.train import Progressed
from cputrain.report import train

pytestmark = pytest.mark.tools
NOW = datetime.datetime(2026, 11, 22, 23, 0)
TOLD = Progressed(step=1200, loss=2.34567, tokens_per_s=12345.0, mfu=0.123, left_s=1800.0)


def test_a_line_has_all_that_is_known():
    line = train.progress(TOLD, 20_000, NOW)
    assert line == (
        "step 1 200 of 20 000, loss 2.3457, 12 300 tokens/s, 12 % of peak, 30 min left, "
        "done at 23:30:00"
    )


def test_validation_another_day_and_what_is_not_known():
    told = structs.replace(TOLD, validation_loss=2.5, mfu=None, left_s=7200.0)
    line = train.progress(told, 20_000, NOW)
    assert "validation 2.5000" in line and "peak" not in line
    assert line.endswith("done at Mon 23 Nov 01:00:00")
    assert "left" not in train.progress(structs.replace(TOLD, step=20_000), 20_000, NOW)
