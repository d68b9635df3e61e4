"""Clock, governor, energy preference and turbo, which are changed on the machine."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

from cputrain import environ
from cputrain.knobs.inforce import Check, same
from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import clock
from cputrain.machine.controls import changes
from cputrain.machine.controls.control import Files, machine_root
from cputrain.machine.controls.cpufreq import Turbo
from cputrain.machine.controls.frequency import HIGH, LOW, Frequency
from cputrain.machine.reading import ROOT, Unknown

if TYPE_CHECKING:
    from cputrain.experiment import Experiment

CLOSE = 0.05
"""Relative difference from the asked clock up to which it is in force."""
READINGS = 5


class Clocked(Knob):
    """Clock, governor, energy preference and turbo, which are changed on the machine.

    `cell.Cell` has them set before it starts the worker, and put back when that has ended.
    """

    def why_not(self, experiment: Experiment) -> str | None:
        return changes.why_not(experiment)

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        """Where the worker reads back, in a trial on a made tree."""
        made = environ.value(environ.MACHINE_ROOT)
        changed = made and changes.controls(experiment.system, Files(), placement.cpus)
        return {environ.MACHINE_ROOT: made} if made and changed else {}

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        files = Files(machine_root())
        checks: list[Check] = []
        for control, value in changes.controls(experiment.system, files, placement.cpus):
            if isinstance(control, Turbo):
                checks.append(same("turbo", value, control.state()))
            elif isinstance(control, Frequency):
                checks += limits(control, value)
                if files.root == ROOT:  # a made tree says nothing about the real clock
                    checks += observed(control, value)
            elif control.name != "huge_pages":  # knobs.huge_pages shows those in force
                now = sorted(set(control.read().values()))
                checks.append(Check(control.label, value, ", ".join(now), now == [value]))
        return checks


def limits(control: Frequency, value: str) -> list[Check]:
    """Both limits of every policy, as the kernel has them."""
    now, expected = control.read(), control.texts(value)
    checks = []
    for end in (LOW, HIGH):
        names = [name for name in expected if name.endswith(end)]
        wrong = {name: now.get(name) for name in names if now.get(name) != expected[name]}
        ghz = " to ".join(dict.fromkeys(f"{ghz:g}" for ghz in control.ghz(value)))
        checks.append(Check(f"{end}, {ghz} GHz", "as asked", wrong or "as asked", not wrong))
    return checks


def observed(control: Frequency, value: str) -> list[Check]:
    """The observed clock, an estimate, held against the clock that was asked for.

    Within 5 % of it, up to the nominal clock and wherever turbo is off. A clock above the nominal
    one is a limit: how much of it is reached depends on heat, power and busy cores, so there the
    observed one has to lie between the nominal and it. "max" with turbo has no upper end: the
    kernel may not know how far turbo goes. What cannot be observed is not shown to be in force.
    """
    name = "observed clock, GHz (an estimate)"
    low, high = control.ghz(value)
    nominal, turbo = control.nominal_ghz(), control.has_turbo()
    if turbo and (nominal is None or high > nominal):
        low = control.lowest_ghz() if nominal is None else min(low, nominal)
        expected = f"{low:g} to {high:g}, as turbo allows"
    else:
        expected = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    if turbo and value == "max":
        high, expected = math.inf, f"{low:g} at least"
    expected = f"{expected}, within {CLOSE:.0%}"
    try:
        ghz = statistics.median(clock.observed_ghz() for _ in range(READINGS))
    except Unknown as unknown:
        return [Check(name, expected, f"cannot be shown: {unknown}", False)]
    ok = low * (1 - CLOSE) <= ghz <= high * (1 + CLOSE)
    return [Check(name, expected, round(ghz, 3), ok)]
