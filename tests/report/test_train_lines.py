"""How far a run has come, in one line."""

import datetime
import unicodedata
from pathlib import Path

import pytest
from msgspec import structs
from settled import settled

from cputrain.record.continued import Continued, Prompt
from cputrain.record.plan import Start, TrainingPlan
from cputrain.record.train import Ended, Progressed, Started
from cputrain.record.trained import TrainRecord
from cputrain.report import train, words
from cputrain.run import recording
from cputrain.run.session import Session
from cputrain.wording import UNSEEN

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
    told = structs.replace(TOLD, left_s=60 * 86_400.0)
    assert train.progress(told, 20_000, NOW).endswith("done at Thu 21 Jan 2027 23:00:00")


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


def test_a_run_that_fine_tunes_says_from_what_and_how_much_was_gained():
    start = Start(name="night", file="/x/model.safetensors", sha256="ab" * 32, tokenizer="")
    plan = TrainingPlan(steps=50, start=start)
    assert train.starts(plan) == ["fine-tuning night: /x/model.safetensors, SHA-256 abababababab"]
    assert train.starts(TrainingPlan(steps=50)) == []
    started = Started(validation_loss=2.5, trained=12_288, weights=458_368)
    trained, weights = words.whole(12_288), words.whole(458_368)
    line = f"step 0, validation 2.5000; {trained} of {weights} weights are trained"
    assert train.started(started) == line
    worker = recording.opened(Session(id="x", run="x", machine="here"), settled())
    record = TrainRecord(name="x", plan=plan, worker=worker, started=started)
    ended = Ended(step=50, is_done=True, training_s=1.0, validation_loss=1.5)
    assert "validation loss 1.5000 (2.5000 before the first step)" in train.ended(record, ended)


@pytest.mark.parametrize("end", ["\x1b]0;title\x07", "\u202etxt", "\x9b31m", "\r\x1b[2K"])
def test_nothing_that_a_model_writes_is_obeyed(end):
    answer = Continued(
        prompt=Prompt(text="a\nb"), text=f"c{end}\nd", tokens=3, is_ended=True, seconds=1.0
    )
    lines = train.continued(answer)
    assert lines[0].startswith("3 tokens, and the end of the text after 'a\\nb', temperature 0.8")
    assert lines[1:3] == ["    a", lines[2]] and lines[2].startswith("    bc")
    assert lines[-1] == "    d"
    assert all(unicodedata.category(c) not in UNSEEN for line in lines for c in line)


def test_the_likeliest_tokens_have_no_seed():
    prompt = Prompt(text="", temperature=0)
    answer = Continued(prompt=prompt, text="x", tokens=1, is_ended=False, seconds=1.0)
    assert train.continued(answer) == ["1 token after '', the likeliest tokens:", "    x"]
