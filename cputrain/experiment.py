"""The experiment: one complete setting of everything that can be varied.

An experiment is five frozen parts (model, training, runtime, system, budget). It
checks itself when it is made, turns into JSON and back, and has a short identity
that stays the same when a later version adds fields. Standard library only.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Self

SCHEMA = 1
"""Raise it when a default below changes: identities leave defaults out."""


class ExperimentError(ValueError):
    """A setting that cannot be: the message names the field, the value and the rule."""


def _refuse(name: str, value: object, rule: str) -> None:
    raise ExperimentError(f"{name} = {value!r}: {rule}")


def _whole(part: object, name: str, least: int) -> None:
    value = getattr(part, name)
    if type(value) is not int or value < least:
        _refuse(name, value, f"a whole number of at least {least} is needed")


def _whole_or_none(part: object, name: str, least: int) -> None:
    if getattr(part, name) is not None:
        _whole(part, name, least)


def _real(part: object, name: str, low: float, high: float) -> None:
    value = getattr(part, name)
    if type(value) not in (int, float) or not low <= value <= high:
        _refuse(name, value, f"a number from {low:g} to {high:g} is needed")


def _one_of(part: object, name: str, allowed: tuple[str, ...]) -> None:
    value = getattr(part, name)
    if value not in allowed:
        _refuse(name, value, f"one of {', '.join(allowed)} is needed")


@dataclass(frozen=True, kw_only=True)
class Model:
    """A GPT decoder: pre-norm, learned positions, erf-GELU, biases, tied head.

    Attributes:
        n_layer: number of blocks.
        n_embd: width of the residual stream.
        n_head: attention heads; each has n_embd / n_head channels.
        mlp_ratio: hidden width of the MLP over n_embd.
        vocab_size: rows of the embedding; 257 is the byte vocabulary.
    """

    n_layer: int = 4
    n_embd: int = 256
    n_head: int = 4
    mlp_ratio: int = 4
    vocab_size: int = 257

    def __post_init__(self) -> None:
        for name in ("n_layer", "n_embd", "n_head", "mlp_ratio"):
            _whole(self, name, 1)
        _whole(self, "vocab_size", 257)
        if self.n_embd % self.n_head:
            _refuse("n_head", self.n_head, f"n_embd = {self.n_embd} does not divide by it")

    @property
    def head_dim(self) -> int:
        """Channels per attention head."""
        return self.n_embd // self.n_head


@dataclass(frozen=True, kw_only=True)
class Training:
    """What one optimizer step does. The optimizer is AdamW (Loshchilov & Hutter 2019, alg. 2).

    Attributes:
        seq_len: tokens in one training sequence.
        batch_size: sequences per step.
        learning_rate: constant over the run.
        beta1, beta2, eps, weight_decay: AdamW's; decay acts on every parameter alike.
        rows: rows of the corpus that are trained on.
        seed: draws the initial weights and the order of the batches.
    """

    seq_len: int = 256
    batch_size: int = 1
    learning_rate: float = 3e-4
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1
    rows: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("seq_len", "batch_size", "rows"):
            _whole(self, name, 1)
        _whole(self, "seed", 0)
        _real(self, "learning_rate", 0.0, 10.0)
        _real(self, "weight_decay", 0.0, 10.0)
        _real(self, "beta1", 0.0, 0.9999999)
        _real(self, "beta2", 0.0, 0.9999999)
        _real(self, "eps", 1e-16, 1.0)

    @property
    def tokens_per_step(self) -> int:
        """Tokens computed in one optimizer step."""
        return self.seq_len * self.batch_size


ENGINES = ("torch", "numpy")
COMPILE = ("eager", "aot_eager", "inductor")
ATTENTION = ("sdpa", "manual")


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """Which code does the work.

    Attributes:
        engine: the library that trains.
        compile: torch.compile's backend; eager is no compilation.
        attention: sdpa is torch's fused causal kernel; manual is matmul, mask, softmax, matmul.
    """

    engine: str = "torch"
    compile: str = "eager"
    attention: str = "sdpa"

    def __post_init__(self) -> None:
        _one_of(self, "engine", ENGINES)
        _one_of(self, "compile", COMPILE)
        _one_of(self, "attention", ATTENTION)
        if self.engine == "numpy" and self.attention != "manual":
            _refuse("attention", self.attention, "the numpy engine has manual only")
        if self.engine == "numpy" and self.compile != "eager":
            _refuse("compile", self.compile, "the numpy engine has eager only")


@dataclass(frozen=True, kw_only=True)
class System:
    """What the worker process is given.

    Attributes:
        cores: CPUs in its affinity mask, whole physical cores first; None is all allowed.
        threads: compute threads; None is one for each physical core in the mask.
        preload: shared libraries loaded before everything else, absolute paths.
    """

    cores: int | None = None
    threads: int | None = None
    preload: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _whole_or_none(self, "cores", 1)
        _whole_or_none(self, "threads", 1)
        for path in self.preload:
            if not isinstance(path, str) or not path.startswith("/"):
                _refuse("preload", path, "an absolute path is needed")
            if set(path) & set(" :\n"):
                _refuse("preload", path, "the loader cannot take a path with a space or colon")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much is measured, and when to give up.

    Attributes:
        steps: timed optimizer steps in one sample.
        samples: samples that one worker takes.
        warm_up_steps, warm_up_s: most steps and seconds spent on getting steady, outside the clock.
        deadline_s: wall-clock seconds that one worker may take in all.
    """

    steps: int = 10
    samples: int = 3
    warm_up_steps: int = 30
    warm_up_s: float = 3.0
    deadline_s: int = 300

    def __post_init__(self) -> None:
        for name in ("steps", "samples", "deadline_s"):
            _whole(self, name, 1)
        _whole(self, "warm_up_steps", 2)
        _real(self, "warm_up_s", 0.0, 3600.0)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One complete setting of everything. See the parts for the fields."""

    model: Model = field(default_factory=Model)
    training: Training = field(default_factory=Training)
    runtime: Runtime = field(default_factory=Runtime)
    system: System = field(default_factory=System)
    budget: Budget = field(default_factory=Budget)

    def but(self, **changes: Any) -> Self:
        """The same experiment with some fields changed, whatever part they are in.

        Raises:
            ExperimentError: a field that does not exist, or a value that cannot be.
        """
        by_part: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            if name not in PART_OF:
                _refuse(name, value, f"no such field; there are {', '.join(sorted(PART_OF))}")
            by_part.setdefault(PART_OF[name], {})[name] = value
        parts = {
            part: dataclasses.replace(getattr(self, part), **fields)
            for part, fields in by_part.items()
        }
        return dataclasses.replace(self, **parts)

    def flat(self) -> dict[str, Any]:
        """Every field by its own name, parts forgotten; what `but` takes."""
        return {name: getattr(getattr(self, part), name) for name, part in PART_OF.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists, for `json.dumps`."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return plain

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The experiment that `to_json` wrote. Fields that are absent take their defaults.

        Raises:
            ExperimentError: not an object of parts, an unknown part or field, or a bad value.
        """
        if not isinstance(data, dict):
            raise ExperimentError(f"experiment = {data!r}: an object of parts is needed")
        parts: dict[str, Any] = {}
        for part, fields in data.items():
            if part not in PARTS:
                _refuse(part, fields, f"no such part; there are {', '.join(PARTS)}")
            if not isinstance(fields, dict):
                _refuse(part, fields, "an object of fields is needed")
            unknown = [name for name in fields if PART_OF.get(name) != part]
            if unknown:
                _refuse(f"{part}.{unknown[0]}", fields[unknown[0]], "no such field")
            given = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
            parts[part] = PARTS[part](**given)
        return cls(**parts)

    @property
    def identity(self) -> str:
        """Twelve hexadecimal digits that name this setting, by the fields not at their default."""
        default = Experiment().flat()
        changed = {name: value for name, value in self.flat().items() if value != default[name]}
        text = json.dumps([SCHEMA, changed], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


PARTS: dict[str, Any] = {
    "model": Model,
    "training": Training,
    "runtime": Runtime,
    "system": System,
    "budget": Budget,
}
PART_OF: dict[str, str] = {
    f.name: part for part, kind in PARTS.items() for f in dataclasses.fields(kind)
}
