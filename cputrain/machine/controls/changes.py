"""Change settings of the machine, and put them back whatever happens meanwhile.

Also which changes an experiment wants, and whether this machine can and may be set so.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from typing import Any

from cputrain.errors import UsageError
from cputrain.experiment import Experiment
from cputrain.experiment.system import System
from cputrain.machine import lock, mask
from cputrain.machine.controls import journal as journals
from cputrain.machine.controls import leftover
from cputrain.machine.controls.control import (
    Control,
    ControlError,
    Files,
    HugePageMode,
    is_allowed,
    machine_root,
)
from cputrain.machine.controls.cpufreq import EnergyPreference, Governor, Turbo
from cputrain.machine.controls.frequency import Frequency
from cputrain.machine.controls.journal import CONTROLS, Journal, Saved
from cputrain.machine.controls.leftover import undo
from cputrain.machine.controls.watchdog import Guard
from cputrain.machine.topology import read_topology

FLAG = "--allow-machine-changes"


class Changes:
    """Some controls set to some values; made by `apply`, ended by `put_back`.

    Args:
        files: the machine's.
        wanted: controls and values, in the order in which they are set.
    """

    def __init__(self, files: Files, wanted: Sequence[tuple[Control, str]]) -> None:
        self.files, self.wanted = files, wanted
        self.record: list[dict[str, Any]] = []
        self._journal: Journal | None = None
        self._guard: Guard | None = None
        self._left: list[str] = []
        self._lock: lock.Held | None = None

    def apply(self) -> None:
        """Set what is not so already: watchdog, journal, write, read back.

        What an earlier process left changed is put back first, also where nothing is wanted.

        Raises:
            ControlError: the kernel did not take it, or somebody else's changes are in the way;
                everything is as it was found.
        """
        if not self.wanted and not journals.path().exists():
            return
        try:
            self._lock = lock.hold(self.files.root)
        except UsageError:
            raise ControlError("another process is changing this machine's settings") from None
        try:
            # First: what was left may look like what is wanted.
            leftover.put_back(journals.path(), self.files)
            if all(control.is_set(value) for control, value in self.wanted):
                self.put_back()
            elif not is_allowed():
                raise ControlError("changes of this machine are not allowed")
            else:
                self._write()
        except UsageError as error:
            self.put_back()
            raise ControlError(str(error)) from error
        except BaseException:
            self.put_back()
            raise

    def _write(self) -> None:
        id, root = uuid.uuid4().hex, str(self.files.root)
        path, owner = journals.path(), journals.me()
        self._journal = Journal(path, id, root, owner, journals.boot(), self._original())
        self._guard = Guard(self._journal)  # first: no journal is left that nobody watches
        self._journal.save()
        Journal.load(path)  # whoever puts back has to be able to believe it
        for control, value in self.wanted:
            if control.is_set(value):
                continue
            before = control.read()
            self._journal.written.append((control.name, before))
            self._journal.save()
            control.write(value)
            now = control.read()
            self.record.append(
                {
                    "what": control.name,
                    "asked": value,
                    "before": _short(before),
                    "written": _short({name: now[name] for name in before if name in now}),
                    "put_back": None,
                }
            )
        if not self._guard.is_there():
            raise ControlError("the watchdog was killed, so nothing stays changed")

    def _original(self) -> dict[str, Saved]:
        """What there is now in all files that will be written, or that a write may move."""
        original: dict[str, Saved] = {}
        for control, _ in self.wanted:
            for name in control.moves:
                original[name] = CONTROLS[name](self.files).read()
        for control, _ in self.wanted:
            original[control.name] = {**original.get(control.name, {}), **control.read()}
        return original

    def lost(self) -> str | None:
        """One line about a setting that somebody else has changed meanwhile; None if all hold."""
        for control, value in self.wanted:
            if not control.is_set(value):
                return f"{control.label} {value} was changed by somebody else meanwhile"
        return None

    def put_back(self) -> list[str]:
        """Put everything back; one line for each file that could not be. Safe to call again."""
        left = self._left
        if self._journal is not None:
            left = undo(self._journal, self.files).left
            try:
                if not left:
                    self._journal.remove()
            except UsageError as error:
                left = [str(error)]
            self._journal = None
        if self._guard is not None:
            (self._guard.leave if left else self._guard.dismiss)()
            self._guard = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        self._left = left
        for change in self.record:
            change["put_back"] = not left
        return left


def _short(saved: Saved) -> Saved:
    """Files that many policies have alike, as one."""
    patterns: dict[str, dict[str, str]] = {}
    for name, text in saved.items():
        folder, _, file = name.rpartition("/")
        above, _, policy = folder.rpartition("/")
        pattern = f"{above}/policy*/{file}" if policy.startswith("policy") else name
        patterns.setdefault(pattern, {})[name] = text
    short: Saved = {}
    for pattern, files in patterns.items():
        alike = len(set(files.values())) == 1
        short |= {pattern: next(iter(files.values()))} if alike else files
    return short


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
