"""What makes two sweeps the same one, so that the second goes on with the first."""

from __future__ import annotations

import argparse
import dataclasses
import os
from typing import Any

from cputrain.machine import libraries
from cputrain.run import recording
from cputrain.sweep import plan


def wanted(
    args: argparse.Namespace, rounds: int | None, suites: list[plan.Planned]
) -> dict[str, Any]:
    """Commit, flags, libraries, and the experiment of every cell."""
    commit, dirty = recording.commit()
    cells = {
        p.key: [[c.experiment.identity, dataclasses.asdict(c.experiment.budget)] for c in p.cells]
        for p in suites
    }
    asked = {"commit": commit, "dirty": dirty, "bench": args.bench, "rounds": rounds}
    given = os.environ.get(libraries.VARIABLE, "")
    changes = args.allow_machine_changes
    return {**asked, "machine_changes": changes, "libraries": given, "cells": cells}
