"""The optional pieces: which are here, which are missing, and the one command that adds each."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cputrain import paths
from cputrain.machine import compilers, library_search, reading
from cputrain.machine.finding import Finding
from cputrain.machine.library_catalogue import LIBRARIES

Family = Literal["debian", "fedora", ""]
PYTHON_H = "Python.h"
NO_ENVIRONMENT = ".asv/env/*/bin/python"
"""asv's interpreter before there is one: the first run makes it."""


@dataclass(frozen=True)
class Piece:
    """Something that a few values need and nothing else does.

    Attributes:
        name: of the library or the program.
        used: the suites' values that are skipped without it; for people.
        debian, fedora: the packages; "" where a wheel brings it.
    """

    name: str
    used: str
    debian: str = ""
    fedora: str = ""


def _library(name: str, used: str) -> Piece:
    return Piece(name, used, LIBRARIES[name].debian, LIBRARIES[name].fedora)


PIECES = (
    _library("libiomp5", "OmpRuntime libiomp5, InductorCompiler clang++, Compiler clang"),
    _library("mkl", "MatmulBackend numpy-mkl and native-mkl"),
    _library("openblas", "MatmulBackend numpy-openblas and native-openblas"),
    _library("onednn", "MatmulBackend numpy-onednn"),
    _library("jemalloc", "Allocator jemalloc"),
    _library("tcmalloc", "Allocator tcmalloc"),
    _library("mimalloc", "Allocator mimalloc"),
    Piece("numactl", "NumaPolicy", "numactl", "numactl"),
    Piece("gcc", "all of our own C: Framework native, Compiler gcc", "gcc", "gcc"),
    Piece("g++", "torch.compile's inductor", "g++", "gcc-c++"),
    Piece(PYTHON_H, "torch.compile's inductor", "python3-dev", "python3-devel"),
    Piece("clang++", "InductorCompiler clang++, Compiler clang", "clang", "clang"),
)


def findings(root: Path = reading.ROOT) -> Iterator[Finding]:
    """What is here, in one finding; each piece that is missing; and what adds several at once."""
    here: dict[str, list[str]] = {}
    coming, missing = [], {}
    for piece in PIECES:
        try:
            folder = find(piece.name, root).parent
            here.setdefault(str(folder), []).append(piece.name)
        except library_search.Missing as error:
            if piece.name in LIBRARIES and library_search.expected(piece.name):
                coming.append(piece.name)
            else:
                missing[piece] = str(error)
    listed = [f"{', '.join(names)} in {folder}" for folder, names in here.items()]
    yield Finding("ok", f"optional pieces here: {'; '.join(listed) or 'none'}")
    if coming:
        yield Finding("ok", f"optional pieces that asv's environment brings: {', '.join(coming)}")
    family = distribution(root)
    packaged = [piece for piece in missing if piece.debian]
    wheels = []
    for piece, reason in missing.items():
        absent = f"{piece.name} is not installed"
        is_absent = reason.startswith(absent)
        why = absent if is_absent else reason  # the command says the rest
        do = command([piece], family)
        if not piece.debian and LIBRARIES[piece.name].has_wheel:
            if is_absent:
                wheels.append(piece)
            else:  # the wheel is there, and does not do
                do = given(piece.name)
        yield Finding("missing", f"{why}; skipped without it: {piece.used}", do)
    for kind, pieces in (("packages", packaged), ("wheels", wheels)):
        if len(pieces) > 1:
            names = ", ".join(piece.name for piece in pieces)
            yield Finding("missing", f"all {kind} at once: {names}", command(pieces, family))


def find(name: str, root: Path = reading.ROOT) -> Path:
    """The file of a library, a program or a header. Raises library_search.Missing."""
    if name in LIBRARIES:
        return library_search.find(name, root)
    if name == PYTHON_H and (header := compilers.python_header()).exists():
        return header
    program = shutil.which(name)
    if program is None:
        raise library_search.Missing(f"{name} is not installed")
    return Path(program)


def distribution(root: Path = reading.ROOT) -> Family:
    """Whose packages the system takes; "" where it does not say or it is another family."""
    try:
        text = reading.text(root, "/etc/os-release")
    except reading.Unknown:
        return ""
    likes = re.findall(r"^(?:ID|ID_LIKE)=(.*)$", text, re.MULTILINE)
    words = " ".join(likes).replace('"', " ").replace("'", " ").split()
    if {"debian", "ubuntu"} & set(words):
        return "debian"
    return "fedora" if {"fedora", "rhel", "centos"} & set(words) else ""


def given(name: str) -> str:
    """What uses a library of one's own."""
    return f"python3 bench.py run --library {name}=PATH, where you have it"


def command(pieces: Sequence[Piece], family: Family) -> str:
    """The one command that adds `pieces`, which are all packages or all wheels."""
    if pieces[0].debian:
        sudo = "sudo " if os.geteuid() else ""
        debian = f"{sudo}apt install {' '.join(piece.debian for piece in pieces)}"
        fedora = f"{sudo}dnf install {' '.join(piece.fedora for piece in pieces)}"
        return {"debian": debian, "fedora": fedora}.get(family, f"{debian}, or {fedora}")
    chosen = [LIBRARIES[piece.name] for piece in pieces]
    if not chosen[0].has_wheel:  # there is none for this machine
        return given(pieces[0].name)
    install = f"-m pip install {shlex.join(library.wheel for library in chosen)}"
    stacks = library_search.prefixes()
    if stacks:
        return f"{shlex.quote(str(stacks[0] / 'bin/python'))} {install}"
    # Its star is for the shell.
    return f"{shlex.quote(str(paths.PROJECT))}/{NO_ENVIRONMENT} {install}, after the first run"
