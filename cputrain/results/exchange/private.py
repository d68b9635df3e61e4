"""What tells who ran it, and where: taken out of a machine's results before they are given away."""

from __future__ import annotations

import functools
import getpass
import platform
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from cputrain import paths
from cputrain.results import anonymous
from cputrain.results.anonymous import Anonymous

SHORTEST = 3
"""Letters of a name that is looked for: shorter ones are found everywhere."""


def without(members: Mapping[str, bytes], folders: Collection[Path]) -> dict[str, str]:
    """The texts of members without homes, the project's folders and hosts' names.

    Args:
        members: by name.
        folders: of the project, beside those that the texts tell.

    Raises:
        UnicodeDecodeError: one is no UTF-8.
    """
    texts = {name: text.decode() for name, text in members.items()}
    known = Anonymous.of(texts.values(), folders)
    return {name: known.text(text) for name, text in texts.items()}


def telling(texts: Mapping[str, str], names: Collection[str]) -> list[str]:
    """What is left that tells it, each once: "member: what".

    Args:
        texts: by name of the member.
        names: of hosts and users, looked for as whole words.
    """
    words = "|".join(re.escape(name) for name in sorted(names))
    pattern = re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])", re.IGNORECASE) if words else None
    places: dict[str, None] = {}
    for member, text in texts.items():
        telling_words = anonymous.telling(text)
        telling_words += pattern.findall(text) if pattern else []
        places |= dict.fromkeys(f"{member}: {word}" for word in telling_words)
    return list(places)


def names_here() -> set[str]:
    """Names of this host and of who runs this.

    A word that this program has in its own sources tells nothing: a user called "torch" or "root".
    """
    host = platform.node()
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a number without a name
        user = ""
    names = {host, host.split(".")[0], user, Path.home().name}
    return {name for name in names if len(name) >= SHORTEST and name.lower() not in _own_words()}


@functools.cache
def _own_words() -> frozenset[str]:
    words: set[str] = set()
    for folder in ("cputrain", "benchmarks"):
        for path in (paths.PROJECT / folder).rglob("*.py"):
            words |= set(re.findall(r"[^\W_]+", path.read_text(encoding="utf-8").lower()))
    return frozenset(words)
