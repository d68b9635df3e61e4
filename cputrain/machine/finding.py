"""What the doctor says: one thing looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cputrain.machine import reading


@dataclass(frozen=True)
class Finding:
    """One thing looked at: what was found, and what to do where that is not good.

    Attributes:
        level: ok; warn disturbs measurements; missing is an optional piece; unknown where the
            machine does not say.
        text: one line.
        do: one line for each warn and missing, empty otherwise.
    """

    level: Literal["ok", "warn", "missing", "unknown"]
    text: str
    do: str = ""


def looked(looks: Mapping[str, Callable[[Path], Finding]], root: Path) -> Iterator[Finding]:
    """What each look finds, "unknown" with the reason where the machine does not say.

    Args:
        looks: by the name of what they look at.
        root: where the kernel's files are.
    """
    for name, look in looks.items():
        try:
            yield look(root)
        except reading.Unknown as error:
            yield Finding("unknown", f"{name}: {error}")
