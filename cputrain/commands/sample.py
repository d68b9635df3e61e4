"""The `sample` verb: a model that is trained continues a text."""

from __future__ import annotations

import argparse

from cputrain.commands import prompts, sessions
from cputrain.errors import UsageError
from cputrain.report import train as report
from cputrain.sweep import asvenv
from cputrain.sweep.training import continuing, source


def main(args: argparse.Namespace) -> int:
    """Print what it writes, and keep it beside the model.

    Raises:
        UsageError: no such model, or one that continues no text.
        RunError: it could not be asked.
    """
    session = sessions.here()
    model = source.named(args.name, session.machine)
    prompts.check(model.experiment, args.name)
    model.tokenizer_text()  # refuses another model's
    seed = model.experiment.training.seed if args.seed is None else args.seed
    prompt = prompts.prompt_of(args.text, args.tokens, args.temperature, seed)
    python = asvenv.Asv("full", session.machine).python()
    if not python.exists():
        raise UsageError(f"{python}: not there yet; python3 bench.py train makes it")
    answer = continuing.continued(model.model, model.tokenizer, prompt, python, session)
    for line in report.continued(answer):
        print(line)
    continuing.keep(model.model.parent, answer)
    return 0
