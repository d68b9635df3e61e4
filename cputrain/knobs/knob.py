"""What a knob is: one setting of the worker, how it is applied, and how it shows to be in force."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cputrain.record.process import Placement as Placement

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check


class Knob:
    """One setting. Every method does nothing unless the experiment sets it.

    The launcher asks, in this order, `why_not`, `environment`, `preload`, `command` and
    `before_exec`, all before the worker's interpreter starts; the worker calls `before_work`
    once its engine is imported, and `checks` once it is warm. Standard library only, except in
    `before_work` and `checks`.
    """

    def why_not(self, experiment: Experiment) -> str | None:
        """One line why this machine cannot have it; None where it can or nothing is asked."""

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        """Variables of the worker's environment."""
        return {}

    def preload(self, experiment: Experiment) -> tuple[str, ...]:
        """Shared libraries to load before everything else, absolute paths."""
        return ()

    def command(self, experiment: Experiment, placement: Placement) -> tuple[str, ...]:
        """Words before the interpreter, such as a program that starts it under a policy."""
        return ()

    def before_exec(self, experiment: Experiment) -> Callable[[], None] | None:
        """What the child calls between fork and exec."""

    def before_work(self, experiment: Experiment, placement: Placement) -> None:
        """What the worker calls before the engine's first work."""

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        """Whether it is in force, in the warm worker.

        Args:
            readings: what the engine's libraries report (`Engine.readings`).
        """
        return []
