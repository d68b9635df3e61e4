"""The line that projects a training, pasted, describes that training."""

import shlex

import pytest
from settled import settled

from cputrain.commands import cli, model_flags
from cputrain.engines import specs
from cputrain.experiment.presets import PRESETS
from cputrain.report import asked_again

pytestmark = pytest.mark.tools

FAST = specs.settle(PRESETS["wiki-24m-fast"].experiment.but(micro_batches=None))
TRAININGS = {
    "the baseline": settled(),
    "sizes": settled(n_layer=2, n_embd=64, seq_len=64, batch_size=2),
    "another engine": settled(engine="jax", n_layer=2),
    "switches, and what is not set": settled(tied=False, activation_checkpointing=True),
    "two processes": settled(batch_size=2, processes=2),
    "a preset": FAST,
    "a preset that streams, from memory": specs.settle(
        PRESETS["llm-25m"].experiment.but(
            loader="memory", loader_workers=0, micro_batches=None, seed=3
        )
    ),
    "dropout": settled(dropout=0.1, attention_backend="manual"),
}


def timed(experiment):
    fields = experiment.flat()
    return {name: v for name, v in fields.items() if name not in asked_again.UNTIMED}


@pytest.mark.parametrize("name", TRAININGS)
def test_the_line_describes_the_training(name):
    experiment = TRAININGS[name]
    python, program, *words = shlex.split(asked_again.project(experiment, 70))
    assert (python, program) == ("python3", "bench.py")
    args = cli.parse(words)
    assert (args.verb, args.steps) == ("project", 70)
    again = specs.settle(model_flags.experiment(args)).but(micro_batches=None)
    assert timed(again) == timed(experiment)


def test_what_the_baseline_says_is_left_out():
    line = asked_again.project(TRAININGS["sizes"], 70)
    assert line == (
        "python3 bench.py project --steps 70 --n-layer 2 --n-embd 64 --seq-len 64 --batch-size 2"
    )
    assert asked_again.project(FAST, 9).endswith("--steps 9 --preset wiki-24m-fast")
