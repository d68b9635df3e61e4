"""Which controls an experiment wants set, and whether this machine can and may be set so."""

from __future__ import annotations

from collections.abc import Collection

from cputrain.experiment import Experiment
from cputrain.experiment.system import System
from cputrain.machine import mask
from cputrain.machine.controls.changes import Changes
from cputrain.machine.controls.control import Control
from cputrain.machine.controls.cpufreq import EnergyPreference, Governor, Turbo
from cputrain.machine.controls.files import Files, is_allowed, machine_root
from cputrain.machine.controls.frequency import Frequency
from cputrain.machine.controls.huge_pages import HugePageMode
from cputrain.machine.topology import read_topology

FLAG = "--allow-machine-changes"


def controls(
    system: System, files: Files, cpus: Collection[int] | None = None
) -> list[tuple[Control, str]]:
    """Controls and their values, in the order in which they are set; none for most experiments.

    Args:
        cpus: the worker's mask; None is this process's, by the experiment.
    """
    settings: list[tuple[Control, str]] = []
    turbo = None if system.turbo == "as_found" else system.turbo
    governor = None if system.governor == "as_found" else system.governor
    if turbo:
        settings.append((Turbo(files), turbo))
    clocked = governor or system.energy_preference != "as_found" or system.frequency_ghz
    if clocked and cpus is None:
        cpus = mask.choose(read_topology(), system)
    if governor:
        settings.append((Governor(files, cpus), governor))
    if system.energy_preference != "as_found":
        settings.append((EnergyPreference(files, cpus, governor), system.energy_preference))
    if system.frequency_ghz is not None:
        value = system.frequency_ghz
        text = value if isinstance(value, str) else f"{value:g}"
        settings.append((Frequency(files, cpus, turbo), text))
    if system.huge_pages == "always":
        settings.append((HugePageMode(files), "always"))
    return settings


def unset(system: System, files: Files) -> list[tuple[Control, str]]:
    """Those that are not as asked already: what would be written."""
    return [(c, value) for c, value in controls(system, files) if not c.is_set(value)]


def why_not(experiment: Experiment) -> str | None:
    """Why the machine cannot be set so, or may not be changed; None where it can and may."""
    files = Files(machine_root())
    wanted = controls(experiment.system, files)
    for control, value in wanted:
        if (reason := control.why_not(value)) is not None:
            return reason
    writing = [control for control, value in wanted if not control.is_set(value)]
    for control in writing:
        if (reason := control.why_not_written()) is not None:
            return reason
    if writing and not is_allowed():
        labels = " and ".join(control.label for control in writing)
        return f"changes this machine's {labels}: allow it with {FLAG}"
    return None


def changes_of(experiment: Experiment) -> Changes:
    """The changes that `experiment` asks for, to be applied; none for most."""
    files = Files(machine_root())
    return Changes(files, controls(experiment.system, files))
