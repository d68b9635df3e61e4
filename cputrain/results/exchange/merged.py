"""Takes machines' results into a project: what is new is added, and nothing here is overwritten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import filelock
import msgspec

from cputrain import paths
from cputrain.errors import RunError, UsageError
from cputrain.machine import lock
from cputrain.record import files
from cputrain.results import packed
from cputrain.results.exchange import beside, checked, journal, union, where
from cputrain.results.exchange.bundle import PEAKS, Bundle, Refused
from cputrain.results.exchange.checked import Checked, Record
from cputrain.results.exchange.sources import bundles

LOCK = "merge.lock"
UNLOCKED = (packed.FILE, PEAKS)
"""Files that no sweep writes to, or in a moment and from what lies there then."""


@dataclass(frozen=True)
class Came:
    """What came of one machine, or of a file that could not be used.

    Attributes:
        source: the file or folder.
        machine: under which it is here; None where nothing was taken.
        given: the name that the source has for it; why: it is another one here.
        records: how many were added; extended: got workers; equal: lay here already.
        others: files beside the records that were added.
        refused: what was not taken, and why, in a line each.
    """

    source: Path
    machine: str | None = None
    given: str = ""
    why: str | None = None
    added: int = 0
    extended: int = 0
    equal: int = 0
    others: int = 0
    refused: list[str] = field(default_factory=list)


def merge(root: Path, sources: Sequence[Path]) -> list[Came]:
    """Take files of `pack`, and folders of projects, into a project.

    Each machine comes whole or not at all; a source that cannot be used does not keep others out.

    Args:
        root: of the project that takes them.
        sources: files and folders.

    Raises:
        UsageError: another merge is running.
        RunError: an earlier merge cannot go on, as a link is in the way.
        OSError: it cannot be written.
    """
    state = root / paths.STATE.name
    state.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(state / LOCK, timeout=0):
            unfinished = journal.finish(root)
            came = [its for source in sources for its in _merge_source(root, source)]
    except filelock.Timeout:
        raise UsageError("another merge into this project is running: wait for it") from None
    return [Came(state, refused=unfinished), *came] if unfinished else came


def finish(root: Path) -> list[str]:
    """Go on with a merge that was killed, unless one is running now; see `journal.finish`.

    Raises:
        RunError: a folder on the way is a symbolic link.
        OSError: a file cannot be moved.
    """
    state = root / paths.STATE.name
    if not (state / journal.FOLDER).is_dir():
        return []
    try:
        with filelock.FileLock(state / LOCK, timeout=0):
            return journal.finish(root)
    except filelock.Timeout:
        return []  # it writes the tables itself when it is through


def _merge_source(root: Path, source: Path) -> Iterator[Came]:
    for machine, its in bundles(source):
        try:
            if isinstance(its, str):
                raise Refused(its)
            yield _merge_machine(root, source, its)
        except (Refused, UsageError, RunError) as error:
            yield Came(source, refused=[f"{machine}: {error}" if machine else str(error)])


def _merge_machine(root: Path, source: Path, its: Bundle) -> Came:
    """One machine of one source."""
    where.check_name(its.machine)
    known = checked.check(its)
    came = Came(source, given=its.machine, refused=known.refused)
    if not known.records and not known.tables:
        return replace(came, refused=[*came.refused, "no record in it can be used"])
    name, why = where.name_for(root, known)
    known, refused = known.called(name), known.refused
    new, counted = _new(root, known, [*refused])
    held = None
    if any((root / path).exists() and Path(path).name not in UNLOCKED for path in new):
        held = lock.hold()  # a sweep writes these files too
        new, counted = _new(root, known, [*refused])  # as they are now
    try:
        counted.refused.extend(journal.put(root, new) if new else [])
    finally:
        if held:
            held.close()
    return replace(counted, source=source, machine=name, given=its.machine, why=why)


def _new(root: Path, its: Checked, refused: list[str]) -> tuple[dict[str, bytes], Came]:
    """Files that are to lie here, by path relative to the project's root; and what they bring."""
    folder = f"output/{its.machine}"
    pack = packed.read(root / folder / packed.FILE)
    if pack.problems:
        raise RunError(f"{pack.problems[0]}: nothing is added to it")
    together, new = dict(pack.records), dict[str, bytes]()
    counts = Counter[str]()
    for place, other in its.records.items():
        path = root / folder / place
        is_loose = path.is_file() and not path.is_symlink()
        here = _here(path, pack.records.get(place), is_loose)
        if isinstance(here, str):
            refused.append(f"{folder}/{place}: {here}")
            continue
        joined = union.union(here, other)
        counts[joined.came] += 1
        refused += [f"{folder}/{place}: {why}" for why in joined.refused]
        if joined.record is not None and is_loose:
            new[f"{folder}/{place}"] = msgspec.json.format(_text(joined.record), indent=1) + b"\n"
        elif joined.record is not None:
            together[place] = _text(joined.record)
    if together != dict(pack.records):
        new[f"{folder}/{packed.FILE}"] = packed.encode(together)
    others = dict(beside.new(root, its, refused))
    return {**new, **others}, Came(
        root,
        added=counts["added"],
        extended=counts["extended"],
        equal=counts["equal"],
        others=len(others),
        refused=refused,
    )


def _here(path: Path, content: bytes | None, is_loose: bool) -> Record | str | None:
    """The record that lies here, loose or packed; why it cannot be read; None where there is none.

    Whose it is was asked when it was written: only what it is made of is checked.
    """
    kind, schema = checked.KINDS[path.name]
    try:
        if is_loose:
            return files.read(path, kind, schema)
        return None if content is None else files.decode(content, kind, schema)
    except (OSError, files.RecordError) as error:
        return f"what lies here under this name cannot be read ({error}); it stays"


def _text(record: Record) -> bytes:
    return files.encode(record)
