"""A training as the flags that describe it, for a line that can be pasted."""

from __future__ import annotations

import shlex

from cputrain.engines import specs
from cputrain.experiment import Experiment, ExperimentError
from cputrain.experiment.described import FIELDS, NONE
from cputrain.experiment.presets import PRESETS
from cputrain.report import train_end

UNTIMED = ("learning_rate", "lr_warmup_steps", "seed", "rows")
"""Fields that a step's time does not depend on."""


def project(experiment: Experiment, steps: int) -> str:
    """The command that projects so many steps of a settled experiment."""
    return shlex.join(
        ["python3", "bench.py", "project", "--steps", str(steps), *_flags(experiment)]
    )


def _flags(experiment: Experiment) -> list[str]:
    """The preset that it is, and each field that neither that nor the engine says by itself."""
    preset = train_end.preset(experiment)
    base = Experiment() if preset is None else PRESETS[preset].experiment
    usual, mine = _settled(base, experiment.runtime.engine), experiment.flat()
    words = [] if preset is None else ["--preset", preset]
    for name in FIELDS:
        value = mine[name]
        if name in UNTIMED or (value == usual[name] and name != "engine"):
            continue
        if name == "engine" and value == base.runtime.engine:
            continue
        words += flag(name, value)
    return words


def flag(name: str, value: object) -> list[str]:
    """The words that describe a field of that value."""
    words = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{words}" if value else f"--no-{words}"]
    return [f"--{words}", NONE if value is None else str(value)]


def _settled(base: Experiment, engine: str) -> dict[str, object]:
    """The base's fields on an engine; as they are where the engine cannot run it."""
    try:
        return specs.settle(base.but(engine=engine)).flat()
    except ExperimentError:
        return base.flat()
