"""Flags of a text that a trained model is to continue, and what they mean."""

from __future__ import annotations

import argparse

from msgspec import structs

from cputrain.errors import UsageError
from cputrain.experiment import Experiment
from cputrain.record.continued import TEMPERATURE, TOKENS, Prompt
from cputrain.record.plan import TrainingPlan
from cputrain.sweep.training import continuing


def with_prompt(
    args: argparse.Namespace, plan: TrainingPlan, experiment: Experiment
) -> TrainingPlan:
    """The plan with the prompt that the flags say; without one as the run on record has it.

    Raises:
        UsageError: a model that continues no text, or flags without a text.
    """
    if args.sample is None:
        for name in ("sample_tokens", "temperature"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name.replace('_', '-')}: only with --sample TEXT")
        return plan
    prompt = prompt_of(args.sample, args.sample_tokens, args.temperature, experiment.training.seed)
    check(experiment, "--sample")
    return structs.replace(plan, prompt=prompt)


def prompt_of(text: str, tokens: int | None, temperature: float | None, seed: int) -> Prompt:
    """A prompt of what flags say; None is the usual.

    Raises:
        UsageError: the text is no Unicode.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("the text to continue is not UTF-8") from error
    return Prompt(
        text=text,
        tokens=TOKENS if tokens is None else tokens,
        temperature=TEMPERATURE if temperature is None else temperature,
        seed=seed,
    )


def check(experiment: Experiment, what: str) -> None:
    """Raise UsageError where a model of this training cannot continue a text."""
    if (why_not := continuing.why_not(experiment)) is not None:
        raise UsageError(f"{what}: {why_not}: it has nothing to continue")
