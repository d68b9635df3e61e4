"""What was measured of a machine: result/<machine>/machine.json, read and merged.

Fields: date; torch (whose products were measured); `FIELDS`, each rates by number of threads;
bandwidth_array_bytes; reasons (what could not be measured, and why); pinned; clock_ghz;
libraries (versions and build settings); flags (of the CPU, all); unknown_facts (those that asv's
registry has as null, and why).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cputrain import atomic
from cputrain.machine import bandwidth, peak
from cputrain.machine.reading import MachineError

FIELDS = {**peak.FIELDS, "bandwidth": bandwidth.FIELD}
"""What is measured by number of threads -> its field."""

BY_TASK = (*FIELDS.values(), "bandwidth_array_bytes", "reasons")


def read(path: Path) -> dict[str, Any]:
    """What machine.json holds; empty where there is none.

    Raises:
        MachineError: it is not the JSON that was written, or cannot be read.
    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise MachineError(f"{path} is damaged: not JSON; delete it") from error
    if not isinstance(content, dict) or not all(
        isinstance(content.get(field, {}), dict) for field in BY_TASK
    ):
        raise MachineError(f"{path} is damaged: not the object that was written; delete it")
    return content


def merge(path: Path, measured: dict[str, Any]) -> dict[str, Any]:
    """Put a measurement into machine.json; what the file holds then: see `joined`.

    Raises:
        MachineError: the file is damaged, or cannot be written.
    """
    whole = joined(read(path), measured)
    try:
        atomic.write_json(path, whole)
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from error
    return whole


def joined(old: dict[str, Any], measured: dict[str, Any]) -> dict[str, Any]:
    """Two measurements of one machine as one, by whole contents of machine.json.

    Of two rates of one thread count the better one is kept, as long as torch is the same; what
    another torch reached is forgotten. A reason goes when the rate is there.
    """
    same = old.get("torch") == measured.get("torch")
    whole = {**old, **measured}
    if measured.get("clock_ghz") is not None:
        whole.pop("clock_ghz_reason", None)
    for field in BY_TASK:
        known = old.get(field, {}) if same else {}
        new = measured.get(field, {})
        if field in FIELDS.values():
            new = {n: max(rate, known.get(n, 0.0)) for n, rate in new.items()}
        whole[field] = {**known, **new}
    for field in (*FIELDS.values(), "bandwidth_array_bytes"):
        whole[field] = dict(sorted(whole[field].items(), key=lambda item: int(item[0])))
    whole["reasons"] = {
        task: reason for task, reason in whole["reasons"].items() if not _known(task, whole)
    }
    for field in BY_TASK:
        if not whole[field]:
            del whole[field]
    return whole


def _known(task: str, whole: dict[str, Any]) -> bool:
    kind, _, threads = task.partition(":")
    return threads in whole.get(FIELDS.get(kind, kind), {})
