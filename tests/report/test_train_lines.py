"""How far a run has come, in one line."""

import datetime
from pathlib import Path

import pytest
from msgspec import structs

from cputrain.record.train import Ended, Progressed
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


END = Ended(
    step=1800,
    is_done=True,
    training_s=1.0,
    best_loss=2.5,
    best_step=1200,
    model_file="model.safetensors",
)


def test_a_run_that_ended_early_says_why_and_so_does_its_record():
    assert train.how_ended(structs.replace(END, waited=3)) == {
        "ended": "done early",
        "reason": "no lower validation loss in 3 evaluations since step 1200",
    }
    assert train.how_ended(END) == {"ended": "done"}
    assert train.how_ended(structs.replace(END, is_done=False)) == {"ended": "stopped"}


def test_the_model_is_that_of_the_last_step_and_the_best_one_is_named():
    assert train.left(Path("output/mine"), END, ["events.out"]) == (
        "output/mine: model.safetensors of step 1 800 (the lowest validation loss: "
        "checkpoints/step-1200.safetensors), progress.csv, train.json, checkpoints/, events.out"
    )
    assert "lowest" not in train.left(Path("x"), structs.replace(END, best_step=1800), [])
