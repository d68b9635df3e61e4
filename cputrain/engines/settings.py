"""The worker's settings: each is a class with its knob, what it needs, and how it is checked.

An engine's spec lists those that concern it; a new one for all of them is a class in a file of its
own in `knobs` and its place in `knobs.general`. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cputrain.engines import specs
from cputrain.knobs.knob import Knob, Placement

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check


def knobs(experiment: Experiment) -> tuple[Knob, ...]:
    """The settings that concern the experiment's engine."""
    return specs.of(experiment.runtime.engine).knobs


def why_not(experiment: Experiment) -> str | None:
    """The first reason why this machine cannot have a setting; None where it can have all."""
    reasons = (knob.why_not(experiment) for knob in knobs(experiment))
    return next((reason for reason in reasons if reason is not None), None)


def environment(experiment: Experiment, placement: Placement) -> dict[str, str]:
    """The variables of all settings.

    Raises:
        ValueError: two settings want one variable; glibc's tunables are joined instead.
    """
    env: dict[str, str] = {}
    for knob in knobs(experiment):
        for name, value in knob.environment(experiment, placement).items():
            if name == "GLIBC_TUNABLES" and name in env:
                value = f"{env[name]}:{value}"
            elif name in env:
                raise ValueError(f"{name} is set by two settings: {env[name]!r} and {value!r}")
            env[name] = value
    return env


def preload(experiment: Experiment) -> tuple[str, ...]:
    """The libraries to load before everything else."""
    return (
        *experiment.system.preload,
        *(p for knob in knobs(experiment) for p in knob.preload(experiment)),
    )


def command(experiment: Experiment, placement: Placement) -> tuple[str, ...]:
    """The words before the interpreter."""
    return tuple(word for knob in knobs(experiment) for word in knob.command(experiment, placement))


def before_exec(experiment: Experiment) -> list[Callable[[], None]]:
    """What the child calls between fork and exec."""
    calls = (knob.before_exec(experiment) for knob in knobs(experiment))
    return [call for call in calls if call is not None]


def before_work(experiment: Experiment, placement: Placement) -> None:
    """What the worker calls before the engine's first work."""
    for knob in knobs(experiment):
        knob.before_work(experiment, placement)


def checks(experiment: Experiment, placement: Placement, readings: dict[str, Any]) -> list[Check]:
    """Whether the settings are in force, in the warm worker."""
    return [
        check
        for knob in knobs(experiment)
        for check in knob.checks(experiment, placement, readings)
    ]
