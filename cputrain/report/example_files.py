"""Makes example/ of a machine's results: packed records, asv's results, tables, plots, pages."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cputrain import paths
from cputrain.atomic import write_text
from cputrain.errors import RunError, UsageError
from cputrain.record import files
from cputrain.report import readme
from cputrain.report.example import FILE, FOLDER, Example
from cputrain.report.export import export
from cputrain.results import anonymous, packed, records, stored
from cputrain.results.anonymous import Anonymous
from cputrain.results.problem import Problem
from cputrain.wording import counted

LARGEST = 4_000_000
"""Bytes of all files together."""
FILES = (
    "result/asv/benchmarks.json",
    "result/asv/{machine}/*.json",
    "result/{machine}/machine.json",
    *(f"result/{{machine}}/{name}" for name in paths.ENGINES.values()),
)
"""What no record has and the pages need; quick runs of asv are left out."""


@dataclass(frozen=True)
class Made:
    """What was made: the machine, how many records and bytes, what the export could not use."""

    machine: str
    records: int
    size: int
    problems: list[Problem]


def make(source: Path, project: Path, machine: str | None = None) -> Made:
    """Put a machine's results in place of example/, and what they say into README.md.

    Where anything fails, both are as they were.

    Args:
        source: the folder of a project with result/ and output/, its records loose or packed.
        project: the folder with README.md, in which example/ is made.
        machine: whose; None where there is only one.

    Raises:
        UsageError: there is no such machine, several and none was named, or no full run of it.
        RunError: a record cannot be read, something tells where it was measured, it is too large,
            or README.md has no place for it.
        OSError: it cannot be written.
    """
    machine = _chosen(source, machine)
    facts = source / "result" / "asv" / machine / "machine.json"
    if not facts.is_file():
        raise UsageError(f"{facts} is not there: run python3 bench.py, a full run and no quick one")
    page_text = (project / "README.md").read_text(encoding="utf-8")
    state = project / ".asv"
    state.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="example-", dir=state))
    try:
        new = work / FOLDER
        count = _copy(source, project, new, machine)
        summary = export(new)
        shutil.rmtree(new / paths.STATE.name)  # what an export keeps for the next one
        page = readme.page_of(new, machine)
        fastest_s, slowest_s = page.baseline_range_s or (None, None)
        known = Example(
            machine=machine,
            baseline_s=page.baseline_s,
            fastest_s=fastest_s,
            slowest_s=slowest_s,
        )
        files.write(new / FILE, known)
        size = _checked(new)
        try:
            page_text = readme.put(page_text, readme.part(page))
        except ValueError as error:
            raise RunError(f"{project / 'README.md'}: {error}") from error
        old = project / FOLDER
        if old.exists():
            old.rename(work / "old")
        new.rename(old)
        write_text(project / "README.md", page_text)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Made(machine, count, size, summary.problems)


def _chosen(source: Path, machine: str | None) -> str:
    known, _ = records.machines(source)
    if not known:
        where = source / "output"
        raise UsageError(f"{where}: no records of any machine; run python3 bench.py there first")
    if machine is None and len(known) == 1:
        return known[0]
    if machine is not None and machine in known:
        return machine
    problem = "say which with --machine" if machine is None else f"no records of {machine!r}"
    raise UsageError(f"{source / 'output'}: {problem}; there are: {', '.join(known)}")


def _copy(source: Path, project: Path, new: Path, machine: str) -> int:
    """Copy records and what else is needed, without what tells where it was; how many records."""
    gathered = stored.gather(source, machine)
    if gathered.problems:
        more = len(gathered.problems) - 1
        rest = f" (and {counted(more, 'more problem')})" if more else ""
        raise RunError(f"{gathered.problems[0]}{rest}: an example is made of whole records only")
    others = [path for name in FILES for path in source.glob(name.format(machine=machine))]
    texts = {
        path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in others
    }
    plain = {place: record.decode() for place, record in gathered.records.items()}
    without = Anonymous.of([*texts.values(), *plain.values()], [source.resolve(), project])
    for name, text in texts.items():
        write_text(new / name, without.text(text))
    packed.write(
        new / "output" / machine / packed.FILE,
        {place: without.text(text).encode() for place, text in plain.items()},
    )
    return len(plain)


def _checked(new: Path) -> int:
    """Bytes of all files.

    Raises:
        RunError: one of them tells where it was measured, or they are too many.
    """
    sizes = {path: path.stat().st_size for path in sorted(new.rglob("*")) if path.is_file()}
    for path in sizes:
        name = path.relative_to(new)
        if path.name == packed.FILE:
            texts = [record.decode() for record in packed.read(path).records.values()]
        elif path.suffix == ".parquet":
            continue  # what results.csv has
        else:
            texts = [path.read_text(encoding="utf-8")]
        words = dict.fromkeys(word for text in texts for word in anonymous.telling(text))
        if words:
            raise RunError(f"{name} tells where it was measured: {', '.join(words)}")
    if sum(sizes.values()) > LARGEST:
        largest = sorted(sizes, key=lambda path: -sizes[path])[:3]
        most = ", ".join(f"{p.relative_to(new)} {sizes[p] // 1000} kB" for p in largest)
        total = f"{sum(sizes.values()) / 1e6:.1f} MB"
        raise RunError(f"the example has {total}, over {LARGEST / 1e6:.0f}; the most are {most}")
    return sum(sizes.values())
