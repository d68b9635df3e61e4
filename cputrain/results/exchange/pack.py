"""Makes one small file of a machine's results, to be given to others."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cputrain.errors import RunError, UsageError
from cputrain.machine import registry
from cputrain.machine.reading import MachineError
from cputrain.results import records
from cputrain.results.exchange import bundle, checked, packfile, private
from cputrain.results.exchange.bundle import RECORDS, Bundle

MOST_TOLD = 3


@dataclass(frozen=True)
class Packed:
    """What was packed.

    Attributes:
        path: of the file; size: its bytes.
        records: how many.
        left_out: what cannot be used, and why, in a line each.
    """

    machine: str
    path: Path
    size: int
    records: int
    left_out: list[str] = field(default_factory=list)


def pack(root: Path, machine: str | None = None, to: Path | None = None) -> Packed:
    """Pack a machine's results.

    What `merge` would refuse is left out. What tells who ran it, and where, is taken out, and the
    file is not written where any of it is left.

    Args:
        root: of the project.
        machine: whose; None is the only one, else this one.
        to: the file, or a folder for "<machine>.cputrain.jsonl.gz"; None is where this was called.

    Raises:
        UsageError: there is no such machine, or nothing says which.
        RunError: no record can be used, or something tells where it was measured.
        OSError: it cannot be written.
    """
    machine = _chosen(root, machine)
    try:
        registry.check_name(machine)
    except MachineError as error:
        raise UsageError(f"{error}: nobody could merge it") from error
    path = to or Path.cwd()
    if path.is_dir():
        path /= f"{machine}{packfile.SUFFIX}"
    whole = bundle.gather(root, machine)
    usable = checked.check(whole)
    out = {line.partition(": ")[0] for line in usable.refused}
    kept = {
        name: text
        for name, text in whole.members.items()
        if bundle.path_in_project(machine, name) not in out
    }
    if not usable.records:
        why = f": {usable.refused[0]}" if usable.refused else ""
        raise RunError(f"{machine}: no record of it can be used{why}")
    texts = private.without(kept, {root.resolve(), root})
    by_path = {bundle.path_in_project(machine, name): text for name, text in texts.items()}
    telling = private.telling(by_path, private.names_here())
    if telling:
        more = f" and {len(telling) - MOST_TOLD} more" if len(telling) > MOST_TOLD else ""
        where = "; ".join(telling[:MOST_TOLD])
        raise RunError(
            f"{path} is not written, it would tell where this was measured: {where}{more}"
        )
    again = checked.check(Bundle(machine, {name: text.encode() for name, text in texts.items()}))
    if again.refused:
        raise RunError(f"{path} is not written, nobody could merge it: {again.refused[0]}")
    size = packfile.write(path, machine, texts)
    count = sum(name.startswith(RECORDS) for name in texts)
    return Packed(machine, path, size, count, usable.refused)


def _chosen(root: Path, machine: str | None) -> str:
    known = records.machines(root)[0]
    if not known:
        raise UsageError(
            f"{root / 'output'}: no records of any machine; run python3 bench.py first"
        )
    if machine is None:
        machine = known[0] if len(known) == 1 else registry.name_here().name
        if machine not in known:
            raise UsageError(f"say which with --machine; there are: {', '.join(known)}")
    if machine not in known:
        raise UsageError(f"no records of {machine!r}; there are: {', '.join(known)}")
    return machine
