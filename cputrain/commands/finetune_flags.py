"""Flags of the verbs `finetune` and `sample`. Standard library only."""

from __future__ import annotations

from cputrain.commands import arguments, flags, model_flags, prompt_flags, train_flags
from cputrain.experiment import PART_OF

USAGE = "bench.py finetune --from RUN --method full|head|lora --steps N [--data FILE ...] [...]"
DESCRIPTION = """\
Go on training a model that is trained already, on other text: all of it, its head alone, or small
additions to its attention (LoRA). Tokenizer and shape are the model's own; training and engine are
those of its run where no flag says otherwise. The new run's model is a whole one again.
"""
SOURCE = "of a run, its folder, or a model.safetensors of one"
TITLES = model_flags.TITLES | {"model": "the model, whose shape stays as it was trained"}
SHAPE = (
    *(name for name, part in PART_OF.items() if part == "model" and name != "dropout"),
    *("seq_len", "objective", "dataset"),
)
"""Fields that a trained model keeps: their flags are taken, and refused for another value."""


def add(verbs: flags.Verbs) -> None:
    """Let a parser take both verbs."""
    what = "go on with a trained model on text of your own"
    finetune = flags.verb(verbs, "finetune", what, DESCRIPTION, USAGE)
    finetune.add_argument("--from", dest="source", metavar="NAME", help=f"the model: {SOURCE}")
    finetune.add_argument(
        "--method",
        choices=["full", "head", "lora"],
        help="what is trained: everything, a head of its own, or low-rank additions",
    )
    train_flags.add_run(finetune)
    model_flags.add_fields(finetune, TITLES, hidden=SHAPE)
    flags.offline(finetune)
    sample = verbs.add_parser("sample", help="have a trained model continue a text")
    sample.add_argument("name", metavar="NAME", help=SOURCE)
    sample.add_argument("text", metavar="TEXT", help="to continue")
    flags.steps(sample, "--tokens", "at most (default 100)")
    prompt_flags.add_temperature(sample)
    sample.add_argument(
        "--seed", type=arguments.seed, metavar="N", help="of the draws (default: the training's)"
    )
