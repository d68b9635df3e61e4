"""Files of packed results, as `pack` makes them and as somebody means harm."""

import gzip
import json

from cputrain.results.exchange import pack as packing
from cputrain.results.exchange import packfile

EVIL = '<img src=x onerror=alert(1)> [a](javascript:b) | `c` \x1b]0;d\x07 =HYPERLINK("e")'
"""A text that is markup, a link, a command to a terminal and a formula."""

FACTS = {"cpu": "AMD EPYC", "cores": "2", "memory": "23.5 GiB", "kernel": "6.1", "microcode": "0x1"}
"""Of a machine, beside those that a made one has."""


def everything(folder, without=(".asv",)):
    """Every file below a folder, with what it holds."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in without
    }


def lines_of(path):
    """The lines of a packed file, as JSON."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def put(path, lines):
    """Write lines as a packed file; those that are text already as they are."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_bytes(gzip.compress(("\n".join(texts) + "\n").encode()))
    return path


def packed(project, to, machine="here"):
    """A project's machine, packed."""
    return packing.pack(project.root, machine, to / f"{machine}{packfile.SUFFIX}").path


def changed(path, name, change):
    """A packed file in which one member's text is what `change` makes of it; its own path."""
    head, *members = lines_of(path)
    made = [m | {"text": change(m["text"])} if m["name"] == name else m for m in members]
    assert made != members
    return put(path, [head, *made])
