"""The sessions of verbs: of this machine, and of those that leave its settings alone."""

from __future__ import annotations

from dataclasses import replace

from cputrain.machine import registry
from cputrain.run.session import Session


def here() -> Session:
    """The session of this process, on this machine by the name that `driver.drive` gives it.

    asv's registry need not have it: it lies in the home folder, which may be a new one.
    """
    return Session.from_env(machine=lambda: registry.name_here().name)


def without_models(offline: bool, mode: str = "full") -> Session:
    """The session of `claims`, `engines` or `parts`.

    Args:
        offline: download nothing.
        mode: "full" or "quick".
    """
    return replace(
        here(),
        mode=mode,
        offline=offline,
        model_cap_bytes=0,  # the suites keep the models of the same experiments
        allow_machine_changes=False,
    )
