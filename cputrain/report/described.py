"""A model in a few lines, before anything of it runs: fields, parameters, FLOPs, memory."""

from __future__ import annotations

import dataclasses

from cputrain.engines import specs
from cputrain.experiment import PART_OF, Experiment
from cputrain.model import flops, memory_estimate
from cputrain.model.shapes import n_params, n_trained
from cputrain.report import words

ALWAYS = (
    *("architecture", "n_layer", "n_embd", "n_head", "vocab_size", "seq_len", "batch_size"),
    *("precision", "optimizer", "engine"),
)
"""Fields that are said whatever they are; others where they differ from the baseline's."""


def lines(experiment: Experiment) -> list[str]:
    """What is asked for, and what it is on paper.

    Args:
        experiment: as it was described, not settled: what it leaves to the engine is not said.

    Raises:
        ExperimentError: its engine cannot.
    """
    usual, fields = Experiment().flat(), experiment.flat()
    settings = [
        f"{name} {_value(value)}"
        for name, value in fields.items()
        if name in ALWAYS or (value != usual[name] and PART_OF[name] != "budget")
    ]
    settled = specs.settle(experiment)
    return [", ".join(settings), _counts(settled), _memory(settled)]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return words.whole(value) if type(value) is int and value >= 10_000 else str(value)


def _counts(experiment: Experiment) -> str:
    held, trained = n_params(experiment), n_trained(experiment)
    parameters = f"{words.number(held / 1e6)} million parameters"
    if trained != held:
        parameters += f", {words.number(trained / 1e6)} million of them trained"
    work = flops.flops_per_step(experiment).total / 1e9
    tokens = words.whole(experiment.training.tokens_per_step)
    return f"{parameters}; a step has {tokens} tokens and {words.number(work)} GFLOP"


def _memory(experiment: Experiment) -> str:
    memory = memory_estimate.memory_bytes(experiment)
    parts = [
        f"{name} {words.size(held)}" for name, held in dataclasses.asdict(memory).items() if held
    ]
    return f"memory, estimated: {words.size(memory.total)} ({', '.join(parts)})"
