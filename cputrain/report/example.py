"""example/: what came of a whole run on one machine, as it comes with the project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from cputrain.record import files
from cputrain.record.part import Number, Part
from cputrain.results.problem import Problem

FOLDER = "example"
FILE = "example.json"
SCHEMA: Literal[1] = 1


class Example(Part, frozen=True, kw_only=True):
    """What other machines' tables say of it.

    Attributes:
        machine: its name.
        baseline_s: seconds of a step of the baseline; None without one.
        fastest_s, slowest_s: of its moments in the newest run; None where they are few.
    """

    schema: Literal[1] = SCHEMA
    machine: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
    baseline_s: Number | None = None
    fastest_s: Number | None = None
    slowest_s: Number | None = None


def read(root: Path) -> tuple[Example | None, list[Problem]]:
    """The example beside results; None where there is none, or where it cannot be read.

    Args:
        root: the folder of the project: example/ is in it.
    """
    path = root / FOLDER / FILE
    if not os.path.lexists(path):
        return None, []
    again = "get it again with git"
    try:
        return files.read(path, Example, SCHEMA), []
    except OSError as error:
        return None, [Problem(path, f"cannot be read: {error.strerror}; {again}")]
    except files.RecordError:
        return None, [Problem(path, f"not what this version writes; {again}")]
