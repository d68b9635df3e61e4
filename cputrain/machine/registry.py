"""This machine's name and its entry in asv's registry, `~/.asv-machine.json`."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import tempfile
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from cputrain.machine import cpu, facts, reading
from cputrain.machine.reading import MachineError

RESERVED = ("asv", "asv-quick", "quick", "version")
"""Names that mean something else in our folders or in asv's registry."""

WITHOUT = r"\((r|tm)\)|@.*|\bwith\b.*|\b(cpu|processor|\d+-core|(dual|quad|six|eight)-core)\b"
"""What a CPU's brand says and a name does not need."""


class Registration(NamedTuple):
    """The name that asv keeps results under; `note` is one line where asv needs --machine."""

    name: str
    note: str | None = None


def machine_name(root: Path = reading.ROOT) -> str:
    """A readable name for this machine: brand, cores, and four digits of who it is.

    The same from run to run, and with CPUs masked; different for machines of one kind.
    """
    try:
        brand = cpu.info(root, "model name", "Model", "Hardware")
    except reading.Unknown:
        brand = platform.machine()
    plain = re.sub(WITHOUT, " ", brand.lower())
    slug = "-".join(re.findall(r"[a-z0-9]+", plain))[:32].strip("-") or platform.machine()
    try:
        cores = f"{cpu.online(root).physical_cores}c"
    except reading.Unknown:
        cores = f"{os.cpu_count()}t"  # threads, where the kernel tells no cores
    # Hashed with a word of our own, as machine-id(5) asks: the id itself is confidential.
    digest = hashlib.sha256(f"cputrain {_who(root)}".encode()).hexdigest()
    return f"{slug}-{cores}-{digest[:4]}"


def _who(root: Path) -> str:
    """What tells this machine from all others."""
    for name in (
        "/etc/machine-id",
        "/var/lib/dbus/machine-id",
        "/sys/class/dmi/id/product_uuid",
    ):
        try:
            found = reading.text(root, name)
        except reading.Unknown:
            continue
        if found != "uninitialized":
            return found
    return f"{platform.node()} {uuid.getnode():012x}"


def check_name(name: str) -> None:
    """Raises MachineError where `name` cannot be a folder and a name in asv's registry."""
    if name in RESERVED or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", name):
        rule = "letters, digits and ._- are allowed, and it may not be " + ", ".join(RESERVED)
        raise MachineError(f"machine name {name!r}: {rule}")


def register(
    registry: Path | None = None, root: Path = reading.ROOT, name: str | None = None
) -> Registration:
    """Put this machine into asv's registry, under its name and its host's name.

    asv looks a machine up by its host's name; that entry's "machine" is our name. An entry
    that somebody else made under the host's name stays. Nothing is written where nothing
    changes, and the file is replaced in one go.

    Args:
        registry: the file; None is asv's own place.
        root: where facts are read.
        name: a name to use instead of `machine_name`.

    Raises:
        MachineError: the registry is broken or cannot be written, or the name cannot be.
    """
    from asv.machine import Machine, MachineCollection

    name = machine_name(root) if name is None else name
    check_name(name)
    path = (registry or Path(MachineCollection.get_machine_file_path())).resolve()
    known = _entries(path)
    entry = {**Machine.get_defaults(), **facts.static_facts(root), "machine": name}
    wanted, note = {name: entry}, None
    host = platform.node()
    if host and host not in RESERVED:
        other = known.get(host)
        if other is None or other.get("machine") == name or set(facts.KEYS) <= set(other):
            wanted[host] = entry
        else:
            kept = f"{host!r} is registered in {path} as {other.get('machine', host)!r}"
            note = f"{kept}: call asv with --machine {name}"
    if any(known.get(key) != value for key, value in wanted.items()):
        _save(path, wanted)
    return Registration(name, note)


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    """The registry's entries by name; none where there is no file."""
    from asv.machine import MachineCollection
    from asv.util import UserError, load_json

    if not path.exists():
        return {}
    try:
        content = load_json(str(path), MachineCollection.api_version)
    except (UserError, OSError, ValueError, TypeError) as error:
        line = " ".join(str(error).split())
        raise MachineError(f"asv's registry {path}: {line}; repair or delete it") from error
    entries = {key: value for key, value in content.items() if key != "version"}
    if not all(isinstance(entry, dict) for entry in entries.values()):
        raise MachineError(f"asv's registry {path}: not a list of machines; repair or delete it")
    return entries


def _save(path: Path, wanted: dict[str, dict[str, Any]]) -> None:
    """Through asv's own writer, on a copy that then takes the file's place."""
    from asv.machine import MachineCollection

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".asv-machine.", dir=path.parent) as folder:
            copy = Path(folder) / path.name
            if path.exists():
                shutil.copy2(path, copy)
            for name, entry in wanted.items():
                MachineCollection.save(name, entry, _path=str(copy))
            copy.replace(path)
    except OSError as error:
        raise MachineError(f"asv's registry {path}: {error.strerror or error}") from error
