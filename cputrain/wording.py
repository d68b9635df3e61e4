"""Text for people: what is counted, and others' text made safe for the one place that it goes to.

Results of other machines are copied into result/ and output/: whatever stands in their fields
(facts, reasons, versions, names) is text to show and nothing to obey. Standard library only.
"""

from __future__ import annotations

import functools
import re
import unicodedata

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories that draw nothing: controls (escape sequences too), what turns the direction of
writing, lone surrogates (which no file can hold), separators of lines."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
FORMULA = ("=", "+", "-", "@")
"""What a spreadsheet's formula begins with; in signs of full width too."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """ "1 suite", "2 suites", "1 process" (where the plural is given)."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def one_line(text: object) -> str:
    """Text for a terminal or a picture: one line, and nothing that is obeyed instead of shown."""
    plain = str(text)
    if plain.isascii() and plain.isprintable():
        return plain
    return "".join(map(_shown, plain))


def markdown(text: object) -> str:
    """Text for Markdown, in a table too: nothing in it is markup, a link or HTML."""
    plain = " ".join(one_line(text).split())
    plain = re.sub(r"[\\`*|~$\[\]]", r"\\\g<0>", plain).replace("](", "]\\(")
    # Between two letters or digits it is no markup.
    plain = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", plain)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def anchor(heading: object) -> str:
    """The link target that code hosts give a heading."""
    plain = " ".join(one_line(heading).split())
    return re.sub(r"[^\w -]", "", plain.lower()).replace(" ", "-")


@functools.lru_cache(maxsize=10_000)
def spreadsheet(text: str) -> str:
    """Text for a table's cell: lines are kept, a formula becomes text by an apostrophe before it.

    A number written as text is no formula.
    """
    plain = "\n".join(map(one_line, re.split(r"\r\n|\r|\n", text)))
    start = unicodedata.normalize("NFKC", plain.lstrip()[:1])
    return f"'{plain}" if start.startswith(FORMULA) and not _is_number(plain) else plain


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    return REPLACEMENT if unicodedata.category(character) in UNSEEN else character


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", text) is not None
