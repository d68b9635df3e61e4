"""This machine's name and its entry in asv's registry, `~/.asv-machine.json`."""

from __future__ import annotations

import json
import platform
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from cputrain import paths
from cputrain.machine import allotted, facts, identity, reading
from cputrain.machine.reading import MachineError

RESERVED = (
    *("asv", "asv-quick", "quick", "version", "compare", "example"),
    *("README.md", "results.csv", "results.parquet"),
)
"""Names that mean something else in our folders, in asv's registry or to `compare`."""

LONGEST = 64
"""Letters of a name."""

API = 1
"""The "version" of asv's registry that is read and written here."""


class Registration(NamedTuple):
    """The name that asv keeps results under; `note` is one line about it for people."""

    name: str
    note: str | None = None


def check_name(name: str) -> None:
    """Raises MachineError where `name` cannot be a folder and a name in asv's registry."""
    if name in RESERVED or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", name):
        rule = f"letters, digits and ._- are allowed, and it may not be {', '.join(RESERVED)}"
        raise MachineError(f"machine name {name!r}: {rule}")


def name_here(
    registry: Path | None = None, root: Path = reading.ROOT, result: Path | None = None
) -> Registration:
    """The name of this machine; nothing is written.

    A name that asv's registry or the results have for another CPU or size of memory is not used:
    the numbers below it are that machine's. The name by the machine's id alone stays where it is
    known and the facts are this machine's.

    Args:
        registry: the file; None is asv's own place.
        root: where facts are read.
        result: the folder of results; None is this project's.

    Raises:
        MachineError: the registry is broken, or another machine has this one's name.
    """
    known = read_registry(registry or Path.home() / ".asv-machine.json")
    now = identity.present(root)
    plain, name = identity.plain_name(root), identity.machine_name(root)
    before = known_facts(plain, known, result)
    different = _differences(before, now)
    if before and not different:
        return Registration(plain)
    if known_facts(name, known, result):
        _refuse_another(name, known, now, result)
        return Registration(name)
    host = known.get(platform.node(), {})
    if not before and set(facts.KEYS) <= set(host):  # an entry of ours, of another name
        plain, different = str(host.get("machine")), identity.differences(host, now)
    if not different:
        return Registration(name)
    return Registration(name, f"machine {plain} has {', '.join(different)}: this one is {name}")


def register(
    registry: Path | None = None, root: Path = reading.ROOT, name: str | None = None
) -> Registration:
    """Put this machine into asv's registry, under its name and its host's name.

    asv looks a machine up by its host's name; that entry's "machine" is our name. An entry
    that somebody else made under the host's name stays, but for the one of asv's own defaults,
    which `asv machine --yes` writes. Nothing is written where nothing changes, and the file is
    replaced in one go.

    Args:
        registry: the file; None is asv's own place.
        root: where facts are read.
        name: a name to use instead of `name_here`.

    Raises:
        MachineError: the registry is broken or cannot be written, or the name cannot be.
    """
    from asv.machine import Machine, MachineCollection

    path = (registry or Path(MachineCollection.get_machine_file_path())).resolve()
    known, note = read_registry(path), None
    if name is None:
        name, note = name_here(path, root)
    else:
        check_name(name)
        _refuse_another(name, known, identity.present(root), None)
    present = {key: value for key, value in identity.present(root).items() if value or key != "cpu"}
    entry = {**Machine.get_defaults(), **present, "machine": name}
    wanted, notes = {name: entry}, [note] if note else []
    if (part := allotted.line(root)) is not None:
        notes.append(f"{part}: its results stand by themselves, as those of machine {name}")
    host = platform.node()
    if host and host not in RESERVED:
        other = known.get(host)
        # A new kernel is the same machine.
        default = {**Machine.get_defaults(), "os": (other or {}).get("os")}
        if (
            other in (None, default)
            or other.get("machine") == name
            or set(facts.KEYS) <= set(other)
        ):
            wanted[host] = entry
        else:
            kept = f"{host!r} is registered in {path} as {other.get('machine', host)!r}"
            notes.append(f"{kept}: call asv with --machine {name}")
    if any(known.get(key) != value for key, value in wanted.items()):
        _save(path, wanted)
    return Registration(name, "; ".join(notes) or None)


def _refuse_another(
    name: str, known: dict[str, dict[str, Any]], now: dict[str, str | None], result: Path | None
) -> None:
    """Raises MachineError where `name` is known as a machine that is not this one."""
    if different := _differences(known_facts(name, known, result), now):
        raise MachineError(
            f"machine {name} is known with {', '.join(different)} as here: the numbers would stand "
            "under the wrong machine; move its entry out of asv's registry, and its results away"
        )


def _differences(known: list[dict[str, Any]], now: dict[str, str | None]) -> list[str]:
    """What tells this machine from any of the known ones, each phrase once."""
    phrases = (phrase for other in known for phrase in identity.differences(other, now))
    return list(dict.fromkeys(phrases))


def known_facts(
    name: str, entries: dict[str, dict[str, Any]], result: Path | None
) -> list[dict[str, Any]]:
    """The facts that are kept of machine `name`: the registry's, and those beside results."""
    kept = [entries[name]] if name in entries else []
    for path in sorted((result or paths.RESULT).glob(f"asv*/{name}/machine.json")):
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            continue  # asv writes it anew; whoever reads the results says that it is damaged
        if isinstance(content, dict):
            kept.append(content)
    return kept


def read_registry(path: Path) -> dict[str, dict[str, Any]]:
    """The registry's entries by name; none where there is no file.

    Raises MachineError where it is broken.
    """
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError("not an object")
        if content.get("version") != API:
            raise ValueError(f"its version is {content.get('version')!r}, and {API} is known")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
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
        why = f"asv's registry {path} cannot be written: {error.strerror or error}"
        raise MachineError(f"{why}; HOME has to be a folder of yours") from error
