"""The session of a verb that leaves models and the machine's settings alone."""

from __future__ import annotations

from dataclasses import replace

from cputrain.run.session import Session


def without_models(offline: bool, mode: str = "full") -> Session:
    """The session of `claims`, `engines` or `parts`.

    Args:
        offline: download nothing.
        mode: "full" or "quick".
    """
    return replace(
        Session.from_env(),
        mode=mode,
        offline=offline,
        model_cap_bytes=0,  # the suites keep the models of the same experiments
        allow_machine_changes=False,
    )
