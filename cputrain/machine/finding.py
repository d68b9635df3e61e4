"""What the doctor says: one thing looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One thing looked at: what was found, and what to do where that is not good.

    Attributes:
        level: ok; warn disturbs measurements; missing is an optional piece; unknown where the
            machine does not say.
        what: one line.
        do: one line for each warn and missing, empty otherwise.
    """

    level: Literal["ok", "warn", "missing", "unknown"]
    text: str
    do: str = ""
