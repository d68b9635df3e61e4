"""What a prediction may be asked for: what has a formula, and what lies where cells were measured.

Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from cputrain.engines import specs
from cputrain.experiment import PART_OF, Experiment
from cputrain.model.attention_flops import pairs
from cputrain.model.flops import flops_per_step

FORMULAS: dict[str, tuple[Any, ...]] = {
    "architecture": ("gpt", "llama", "bert"),
    "precision": ("fp32",),
    "dropout": (0.0,),
    "fine_tuning": ("scratch",),
    "optimizer": ("adamw", "sgd"),
}
"""By field, the values whose cost there are formulas for."""
FREE_PARTS = ("model", "training", "budget")
"""Parts of an experiment that terms tell; all else has to be the engine's plain way."""


def _field(name: str) -> Callable[[Experiment], float]:
    return lambda experiment: float(experiment.flat()[name])


FIELDS = (
    *("n_layer", "n_embd", "n_head", "mlp_ratio"),
    *("vocab_size", "seq_len", "batch_size", "grad_accum"),
)
SIZES: dict[str, Callable[[Experiment], float]] = {
    **{name: _field(name) for name in FIELDS},
    "channels of a head": lambda e: float(e.model.d_head),
    "tokens of a micro-batch": lambda e: float(e.training.batch_size * e.training.seq_len),
    "million logits of a micro-batch": lambda e: (
        e.training.batch_size * e.training.seq_len * e.model.vocab_size / 1e6
    ),
    "million pairs of tokens in all heads": lambda e: (
        e.training.batch_size * e.model.n_head * pairs(e) / 1e6
    ),
    "GFLOP of a step": lambda e: flops_per_step(e).total / 1e9,
}
"""What has a range, by what it is called."""
KINDS = (
    *("architecture", "activation", "attention", "objective"),
    *("optimizer", "activation_checkpointing", "tied"),
)
"""Fields of which a value was measured or was not."""
RANGED = 1.0001
"""As far beyond an end is still within."""


class Range(msgspec.Struct, frozen=True):
    """What the calibrating cells had.

    Attributes:
        sizes: by name (`SIZES`), lowest and highest.
        kinds: by field (`KINDS`), the values.
    """

    sizes: dict[str, tuple[float, float]]
    kinds: dict[str, list[str]]


class Outside(msgspec.Struct, frozen=True):
    """What a description has that no calibrating cell had.

    Attributes:
        words: one for each, for people.
        doublings: how often the sizes have to be halved or doubled to be within, together; a
            value of `KINDS` counts as one.
    """

    words: list[str]
    doublings: float


def no_formula(experiment: Experiment) -> str | None:
    """The first field whose cost nothing tells, with its value; None where all is told.

    Args:
        experiment: settled.
    """
    fields = experiment.flat()
    for name, values in FORMULAS.items():
        if fields[name] not in values:
            return f"{name} = {fields[name]!r}"
    usual = plain(experiment.runtime.engine).flat()
    for name, value in fields.items():
        if PART_OF[name] not in FREE_PARTS and value != usual[name]:
            return f"{name} = {value!r}"
    return None


def plain(engine: str) -> Experiment:
    """The default experiment on an engine, settled: what others are measured beside."""
    return specs.settle(Experiment().but(engine=engine))


def ranges(experiments: Iterable[Experiment]) -> Range:
    """What these have, at least one of them."""
    every = list(experiments)
    sizes = {name: [of(e) for e in every] for name, of in SIZES.items()}
    return Range(
        {name: (min(values), max(values)) for name, values in sizes.items()},
        {name: sorted({str(e.flat()[name]) for e in every}) for name in KINDS},
    )


def outside(experiment: Experiment, known: Range) -> Outside:
    """What of a description lies beyond the range."""
    words, doublings = [], 0.0
    for name, (low, high) in known.sizes.items():
        value = SIZES[name](experiment)
        beyond = max(value / high, low / value)
        if beyond > RANGED:
            numbers = (f"{x:.0f}" if x >= 10 else f"{x:.3g}" for x in (value, low, high))
            words.append("{} {} (calibrated {} to {})".format(name, *numbers))
            doublings = max(doublings, math.log2(beyond))
    for name, values in known.kinds.items():
        kind = str(experiment.flat()[name])
        if kind not in values:
            words.append(f"{name} {kind} (calibrated {', '.join(values)})")
            doublings += 1
    return Outside(words, doublings)


def doubts(experiment: Experiment, doubtful: Mapping[str, float]) -> dict[str, float]:
    """Those of the doubtful values (`costs.Learned`) that a description has."""
    present = [f"{name} {_level(name, experiment)}" for name in KINDS]
    return {value: doubtful[value] for value in present if value in doubtful}


def levels(experiments: Iterable[Experiment], engine: str) -> Mapping[str, dict[str, list[bool]]]:
    """By field and level, which experiments have it; levels of the default are left out."""
    every, usual = list(experiments), plain(engine)
    by_field: dict[str, dict[str, list[bool]]] = {}
    names = [name for name in SIZES if name in PART_OF or name == "channels of a head"]
    for name in (*names, *KINDS):
        texts = [_level(name, e) for e in every]
        others = sorted(set(texts) - {_level(name, usual)})
        by_field[name] = {level: [text == level for text in texts] for level in others}
    return by_field


def _level(name: str, experiment: Experiment) -> str:
    of = SIZES.get(name)
    return f"{of(experiment):g}" if of else str(experiment.flat()[name])
