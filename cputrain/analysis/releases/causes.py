"""What differs between two sides' workers: versions, and what was in force by their own records."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from cputrain.record.sample import Sample
from cputrain.record.worker import WorkerRecord

PASSES = ("forward", "backward", "optimizer")
CHECKED = ("precision",)
"""Evidence that the checks of `in_force` say too."""
ALIKE = 0.05
"""Measured numbers that lie closer, as a share, do not differ."""
LONGEST = 80
ADDITION = re.compile(r"(?<=\S) \([^()]*\)$")


@dataclass(frozen=True)
class Difference:
    """A fact that differs.

    Attributes:
        what: its name.
        before, after: what the reference side's workers say, and the other's.
    """

    what: str
    before: str
    after: str

    @property
    def words(self) -> str:
        """In one phrase; "(Git Hash ...)" is left out where the version before it differs."""
        before, after = (ADDITION.sub("", each) for each in (self.before, self.after))
        if before == after:
            before, after = self.before, self.after
        return f"{self.what}: {before} -> {after}"


def differences(
    references: Sequence[WorkerRecord], workers: Sequence[WorkerRecord]
) -> list[Difference]:
    """What all workers of one side say otherwise than all of the other.

    What varies among the workers of one side is nobody's cause, and is left out.
    """
    facts_before, facts_after = _values(references), _values(workers)
    by_values: dict[tuple[str, str], Difference] = {}
    for name in dict.fromkeys((*facts_before, *facts_after)):
        before = facts_before.get(name, {"not there"})
        after = facts_after.get(name, {"not there"})
        if before & after or _is_near(before, after):
            continue
        if len(before) == 1 and len(after) == 1:
            values = _short(min(before)), _short(min(after))
            by_values.setdefault(values, Difference(name, *values))  # a fact under two names
    return list(by_values.values())


def passes_of_step(workers: Sequence[WorkerRecord]) -> tuple[tuple[str, float], ...]:
    """Time of each pass of a step over the reference's: medians over all pairs that count."""
    made = []
    for name in PASSES:
        ratios = []
        for worker in workers:
            for pair in worker.pairs:
                if any(worker.disturbed_sides(pair)):
                    continue
                own = _seconds(worker.samples[pair.sample], name)
                beside = _seconds(pair.reference, name)
                if own and beside:
                    ratios.append(own / beside)
        if ratios:
            made.append((name, statistics.median(ratios)))
    return tuple(made)


def _seconds(sample: Sample, name: str) -> float | None:
    seconds: float | None = getattr(sample, f"{name}_s")
    return seconds


def _values(workers: Sequence[WorkerRecord]) -> dict[str, set[str]]:
    """The values of each fact, over the workers of one side."""
    values: dict[str, set[str]] = {}
    for worker in workers:
        for name, value in _facts(worker):
            values.setdefault(name, set()).add(value)
    return values


def _facts(worker: WorkerRecord) -> Iterator[tuple[str, str]]:
    """Everything that a worker's record says was in force, one leaf after the other."""
    for name, version in worker.versions.items():
        yield f"version of {name}", version
    for part in ("runtime", "system"):
        yield from _leaves(f"asked {part}", worker.experiment.get(part, {}))
    if worker.placement is not None:
        yield "threads", str(worker.placement.threads)
    yield from _leaves("", worker.readings or {})
    evidence = {k: v for k, v in (worker.evidence or {}).items() if k not in CHECKED}
    yield from _leaves("", evidence)
    for check in worker.in_force or []:
        yield from _leaves(check.name, check.actual)
    if worker.state is not None:
        for pool in worker.state.threadpools or []:
            facts = {k: v for k, v in pool.items() if k != "prefix"}
            yield from _leaves(f"mapped {pool.get('prefix')}", facts)
        yield (
            "OpenMP mapped",
            ", ".join(sorted(PurePath(p).name for p in worker.state.openmp or [])),
        )
    yield "allocators mapped", ", ".join(_names(worker))


def _names(worker: WorkerRecord) -> list[str]:
    allocators = (worker.state.allocators if worker.state is not None else None) or []
    return sorted(PurePath(path).name for path in allocators)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{name} {key}".strip(), item)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value):
            label = str(item.get("prefix", number)) if isinstance(item, dict) else str(number)
            yield from _leaves(f"{name} {label}", item)
    elif isinstance(value, str) and "\n" in value:
        for line in filter(None, map(str.strip, value.splitlines())):
            key, value = _of_line(line)
            yield f"{name} {key}", value
    elif isinstance(value, list):
        yield name, ", ".join(map(_plain, value))
    else:
        yield name, _plain(value)


def _of_line(line: str) -> tuple[str, str]:
    """Name and value of a line such as "threads : 2" or "Intel(R) MKL-DNN v3.12.0 (Git ...)"."""
    key, colon, rest = line.partition(":")
    if colon:
        return key.strip(), rest.strip()
    version = re.search(r" (?=(?:v|Version )\d)", line)
    return (line[: version.start()], line[version.end() :]) if version else (line, "there")


def _plain(value: Any) -> str:
    """A leaf in words: of a path its file's name, as folders of two environments always differ."""
    text = str(value)
    return PurePath(text).name if text.startswith("/") else text


def _is_near(before: set[str], after: set[str]) -> bool:
    """Whether both are measured numbers, and close to one another."""
    try:
        numbers = [float(value) for value in (*before, *after)]
    except ValueError:
        return False
    if all(value.is_integer() for value in numbers):
        return False
    largest = max(map(abs, numbers))
    return largest == 0 or (max(numbers) - min(numbers)) / largest < ALIKE


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
