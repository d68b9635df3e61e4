"""How much room text takes in a picture, estimated: the reader's fonts are not known here."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

NARROW, WIDE = "iIjl.,:;|!'()[]- ", "mwMW%@"
"""Signs that take less and more room than others, in fonts without serifs."""
SHARES = {"narrow": 0.38, "usual": 0.62, "large": 0.72, "wide": 0.98}
"""Width over the size of the font, of DejaVu Sans, which is wider than most."""
GAP = 4.0
"""Units between two texts at least."""


def width(text: str, size: float) -> float:
    """Units that a line of text takes, in a font of that size."""
    return size * sum(SHARES[_kind(sign)] for sign in text)


def _kind(sign: str) -> str:
    if sign in NARROW:
        return "narrow"
    if sign in WIDE or unicodedata.east_asian_width(sign) in "FW":
        return "wide"
    return "large" if sign.isupper() else "usual"


@dataclass(frozen=True)
class Box:
    """The room of a text: its ends from left to right, and from top to bottom."""

    left: float
    right: float
    top: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether the two are nearer than `GAP`."""
        return (
            self.left < other.right + GAP
            and other.left < self.right + GAP
            and self.top < other.bottom + GAP
            and other.top < self.bottom + GAP
        )


def box(text: str, size: float, x: float, y: float) -> Box:
    """The room of a text whose line stands on `y`, with its middle at `x`."""
    wide = width(text, size)
    left = x - wide / 2
    return Box(left, left + wide, y - 0.8 * size, y + 0.2 * size)


def apart(boxes: Sequence[Box]) -> list[int]:
    """Which of them stand apart from all those before that do, by their places in `boxes`."""
    kept: list[int] = []
    for i, candidate in enumerate(boxes):
        if not any(candidate.overlaps(boxes[k]) for k in kept):
            kept.append(i)
    return kept
