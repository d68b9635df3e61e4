"""What a sweep will change on the machine, said before; and that it was put back, read again."""

from __future__ import annotations

import time
from collections.abc import Iterable

from cputrain.machine.controls import changes
from cputrain.machine.controls.control import Control, Files, machine_root
from cputrain.machine.controls.cpufreq import ruled_cpus
from cputrain.machine.controls.journal import CONTROLS, Saved
from cputrain.sweep import plan

PATIENCE_S = 30.0
"""A cell that was killed is put back by its watchdog, a moment later; more on a busy machine."""


class Promise:
    """What these suites' cells will change, by what is on the machine now."""

    def __init__(self, suites: Iterable[plan.Planned]) -> None:
        self.files = Files(machine_root())
        self._controls: dict[str, list[Control]] = {}
        for planned in suites:
            for cell in planned.cells:
                if cell.why_not is None:
                    unset = changes.unset(cell.experiment.system, self.files)
                    for control, _ in unset:
                        self._controls.setdefault(planned.name, []).append(control)
        self._before = self._read()

    def line(self) -> str | None:
        """Which settings of how many CPUs will be changed; None where none will."""
        all_ = [control for controls in self._controls.values() for control in controls]
        if not all_:
            return None
        return f"will change this machine's {_named(self.files, all_)}, and put it back each time"

    def kept(self, suite: str) -> tuple[bool, str | None]:
        """Whether all is as it was before `suite`, and a line that says so.

        No line where the suite changed nothing.
        """
        if suite not in self._controls:
            return True, None
        end = time.monotonic() + PATIENCE_S
        while (different := self._different()) and time.monotonic() < end:
            time.sleep(0.05)
        self._before = self._read()
        if different:
            return False, "  NOT as before: " + "; ".join(different)
        return True, f"  put back, as read again: {_named(self.files, self._controls[suite])}"

    def _read(self) -> dict[str, Saved]:
        changed = [control for controls in self._controls.values() for control in controls]
        names = {name for control in changed for name in (control.name, *control.moves)}
        return {name: CONTROLS[name](self.files).read() for name in names}

    def _different(self) -> list[str]:
        now = self._read()
        return [
            f"{name} is {now[control].get(name)}, and was {text}"
            for control, saved in self._before.items()
            for name, text in saved.items()
            if now[control].get(name) != text
        ]


def _named(files: Files, controls: list[Control]) -> str:
    """Settings and CPUs, for people: turbo, governor of 16 CPUs."""
    cpus: dict[str, set[int]] = {}
    for control in controls:
        ruled = ruled_cpus(files, control.cpus) if control.per_cpu else set()
        cpus.setdefault(control.label, set()).update(ruled)
    parts = [
        f"{label} of {len(ids)} CPU{'s' if len(ids) > 1 else ''}" if ids else label
        for label, ids in cpus.items()
    ]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
