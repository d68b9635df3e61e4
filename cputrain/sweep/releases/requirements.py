"""What `--stack` asks for, and the requirements that an environment is built from."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from cputrain.errors import UsageError

HERE = "here"
"""The word for requirements.txt as it is, and for the working tree."""
PIN = re.compile(r"([A-Za-z0-9][\w.-]*?)\s*==\s*([\w.+!-]+)")
"""A requirement with one version."""


LOOSE = {"setuptools": ">=77"}
"""What is not measured, only installs this project, and which other releases want otherwise (torch
2.12 takes none from 82): as pyproject.toml has it."""


def plain(name: str) -> str:
    """A package's name as indexes compare them."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    """Packages of a requirements file and their versions, by `plain` name."""
    matches = (PIN.match(line.strip()) for line in text.splitlines())
    return {plain(match[1]): match[2] for match in matches if match is not None}


def stack_versions(words: str, known: Mapping[str, str]) -> dict[str, str]:
    """The versions of one `--stack`: "here", or "torch==2.12.1 numpy==2.4.5".

    Args:
        words: as they were typed.
        known: what requirements.txt pins.

    Raises:
        UsageError: it is no pin, or of a package that requirements.txt does not pin.
    """
    versions: dict[str, str] = {}
    for word in words.replace(",", " ").split():
        if word == HERE:
            continue
        match = PIN.fullmatch(word)
        if match is None:
            raise UsageError(
                f"--stack {words}: {word} is no version; write NAME==VERSION, or {HERE} for "
                "requirements.txt as it is"
            )
        name = plain(match[1])
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise UsageError(f"--stack {words}: requirements.txt pins no {match[1]}; {meant}")
        versions[name] = match[2]
    return versions


def replaced(text: str, versions: Mapping[str, str]) -> str:
    """A requirements file with the versions of some packages replaced.

    The rest is as it was, but for what is `LOOSE`, where anything is replaced.
    """

    def line(each: str) -> str:
        match = PIN.match(each)
        name = plain(match[1]) if match is not None else ""
        if match is None or not versions or name not in {*versions, *LOOSE}:
            return each
        bound = f"=={versions[name]}" if name in versions else LOOSE[name]
        return f"{match[1]}{bound}{each[match.end() :]}"

    return "".join(f"{line(each)}\n" for each in text.splitlines())


def essence(text: str) -> list[str]:
    """The lines of a requirements file that pip reads: files with the same ones are equal."""
    lines = (each.split(" #")[0].strip() for each in text.splitlines())
    return [each for each in lines if each and not each.startswith("#")]


def is_version(installed: str | None, wanted: str) -> bool:
    """Whether an installed version is the wanted one: 2.13.0+cpu is 2.13.0."""
    if installed is None:
        return False
    return installed == wanted or ("+" not in wanted and installed.split("+")[0] == wanted)
