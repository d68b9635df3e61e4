"""asv's own files of a machine, checked: its facts, and its copy of the numbers.

asv's pages put facts into HTML as they are, and folders are called after them: what a page would
obey is made "_" here. A profile, which asv would load as code's own data, is left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from cputrain.results.exchange.bundle import Refused

FACTS_VERSION, RESULTS_VERSION = 1, 2
"""asv's "version" of its files that is read here."""
OBEYED = re.compile(r"[^ -~]|[<>&]")
LONGEST, DEEPEST, LARGEST = 4000, 6, 1e18
COLUMNS = (
    *("result", "params", "version", "started_at", "duration", "samples", "profile"),
    *("stats_ci_99_a", "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_number"),
    "stats_repeat",
)
UNBOUNDED = ("stats_ci_99_a", "stats_ci_99_b")
"""Of few samples asv's intervals have no end."""
Name = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_.+-]{0,99}\Z")]
Text = Annotated[str, Meta(max_length=LONGEST)]
Facts = dict[Name, Text | int | None]


class Results(Struct, forbid_unknown_fields=True):
    """asv's file of the results of one commit."""

    commit_hash: Annotated[str, Meta(pattern=r"^[0-9a-f]{7,40}\Z")]
    env_name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._+-]{1,180}\Z")]
    date: Annotated[int, Meta(ge=0, le=10**14)]
    params: dict[Name, Text | None]
    python: Annotated[str, Meta(pattern=r"^[0-9.]{1,20}\Z")]
    requirements: dict[Name, Text | None]
    env_vars: dict[Name, Text | None]
    result_columns: list[str]
    results: dict[Name, list[Any]]
    version: Literal[2]
    durations: dict[str, Any] = {}


def facts(text: bytes, machine: str) -> dict[str, str | int | None]:
    """asv's machine.json, its texts harmless.

    Raises:
        Refused: it is none, or another machine's.
    """
    try:
        content = msgspec.json.decode(text, type=Facts)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused(f"not asv's facts of a machine ({_short(error)})") from error
    if content.get("version") != FACTS_VERSION or content.get("machine") != machine:
        raise Refused(f"not asv's facts of this machine, in version {FACTS_VERSION}")
    return {name: _harmless(value) for name, value in content.items()}


def results(name: str, text: bytes, machine: str) -> dict[str, Any]:
    """asv's results of a commit: its texts harmless, without profiles.

    Args:
        name: of the file.
        text: of it, in which NaN is what was skipped.
        machine: whose.

    Raises:
        Refused: it is none, another machine's, or has a number that is none.
    """
    try:
        plain = json.loads(text)
        content = msgspec.convert(plain, Results)
        for row in content.results.values():
            for column, value in zip(content.result_columns, row, strict=False):
                _check(value, column in UNBOUNDED)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused(f"not asv's results ({_short(error)})") from error
    if content.params.get("machine") != machine:
        raise Refused("asv's results of another machine")
    start, _, rest = name.removesuffix(".json").partition("-")
    if not content.commit_hash.startswith(start) or rest != content.env_name:
        raise Refused("asv's results of another commit or environment than its name says")
    if unknown := [column for column in content.result_columns if column not in COLUMNS]:
        raise Refused(f"asv's results with a column {unknown[0]!r:.60}")
    kept = [i for i, column in enumerate(content.result_columns) if column != "profile"]
    rows = {
        benchmark: [row[i] if i in kept else None for i in range(len(row))]
        for benchmark, row in content.results.items()
        if len(row) <= len(content.result_columns)
    }
    return dict(_harmless(plain | {"results": rows, "durations": {}}))


def encode(content: Mapping[str, Any]) -> bytes:
    """Its JSON: NaN is what was skipped, as asv writes it."""
    return json.dumps(content).encode()


def renamed(content: dict[str, Any], machine: str) -> dict[str, Any]:
    """Facts or results under another name of the machine."""
    if "params" in content:
        return {**content, "params": {**content["params"], "machine": machine}}
    return {**content, "machine": machine}


def _check(value: Any, is_unbounded: bool, depth: int = 0) -> None:
    """Raise ValueError for what no number, text or list of a result is."""
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, is_unbounded, depth + 1)
    elif isinstance(value, str) and len(value) > LONGEST:
        raise ValueError("a text is too long")
    elif isinstance(value, float) and not math.isfinite(value):
        if math.isinf(value) and not is_unbounded:
            raise ValueError(f"a number is {value}")
    elif isinstance(value, int | float) and abs(value) > LARGEST:
        raise ValueError(f"a number {value!r:.30} is out of range")


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return OBEYED.sub("_", value)
    if isinstance(value, dict):
        return {OBEYED.sub("_", name): _harmless(item) for name, item in value.items()}
    return [_harmless(item) for item in value] if isinstance(value, list) else value


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:150]
