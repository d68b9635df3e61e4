"""A matplotlib figure as a small SVG: words as text, which can be searched and read aloud."""

from __future__ import annotations

import io
import re

from matplotlib.figure import Figure

FONT = "DejaVu Sans"
"""What the places of words are reckoned with; Verdana is as wide."""
STYLE = {
    "font.family": FONT,
    "svg.fonttype": "none",  # text, and not the outlines of its letters
    "svg.hashsalt": "cputrain",  # the same figure gives the same file
}
"""Settings of matplotlib that hold while the figure is made and written."""
DIGITS = 2
"""Of a coordinate, behind the point: of 1/72 inch."""
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_TAG = re.compile(r"<[a-z]+ [^<>]*>")
_PLACES = re.compile(r'\b(?:d|x|y)="[^"]*"')
_NUMBER = re.compile(rf"(\.\d{{{DIGITS}}})\d+")
_FAMILY = re.compile(rf"(<text style=\"[^\"]*?)font-family: '{FONT}'; ")
FAMILIES = f"text{{font-family: '{FONT}', Verdana, sans-serif}}"


def written(figure: Figure) -> bytes:
    """The figure as SVG; equal figures give equal bytes, with `STYLE` in force."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = _METADATA.sub("", buffer.getvalue(), count=1)
    text = _TAG.sub(lambda tag: _PLACES.sub(_short, tag[0]), text)
    text = _FAMILY.sub(r"\1", text)
    text = text.replace("</style>", f"{FAMILIES}</style>", 1)
    return re.sub(r"\n\s*<", "\n<", text).encode()


def _short(place: re.Match[str]) -> str:
    return _NUMBER.sub(r"\1", " ".join(place[0].split()))
