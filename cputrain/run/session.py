"""What the processes of one session share, handed on by environment variables.

bench.py makes a session and starts asv with it; a cell reads it again in asv's process, or has
the defaults where asv was started by hand. Standard library only.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cputrain import environ, paths
from cputrain.machine import processes

MODEL_CAP_BYTES = 128_000_000
"""Larger models are not kept, unless `bench.py run --model-cap` says so."""


@dataclass(frozen=True)
class Session:
    """One session of measuring.

    Attributes:
        id: what its records have in common.
        run: the asv call within it: a suite taken up again after a kill has another.
        number: of the pass, from 1: each brings a fresh worker to the cells that it takes.
        pairs: of blocks of a cell in this pass, by engine; without any as the suites say.
        machine: name under which asv keeps this machine's results.
        mode: full or quick.
        offline: whether the network is not to be touched.
        model_cap_bytes: larger models are not kept.
        events: file to which cells add a line when they end; None where nobody follows.
        allow_machine_changes: whether cells may change settings of the whole machine.
        libraries: given paths of optional libraries (see `machine.library_search`).
        driven: whether bench.py drives it, and not asv called by hand.
        root: of data, output and results.
        benchmarks: folder of the suites.
    """

    id: str
    run: str
    machine: str
    number: int = 1
    pairs: Mapping[str, int] = field(default_factory=dict)
    mode: str = "full"
    offline: bool = False
    model_cap_bytes: int = MODEL_CAP_BYTES
    events: Path | None = None
    allow_machine_changes: bool = False
    libraries: str = ""
    driven: bool = True
    root: Path = field(default_factory=lambda: paths.ROOT)
    benchmarks: Path = field(default_factory=lambda: paths.BENCHMARKS)

    @classmethod
    def from_env(
        cls, env: Mapping[str, str] = os.environ, machine: Callable[[], str] | None = None
    ) -> Session:
        """The session that `env` tells of; where it is silent, that of asv's own process.

        Args:
            env: variables of a process.
            machine: gives the machine's name where `env` is silent; None: as asv looks it up.
        """
        id = env.get(environ.SESSION) or _of_parent()
        events = env.get(environ.EVENTS)
        return cls(
            id=id,
            run=env.get(environ.RUN) or id,
            machine=env.get(environ.MACHINE) or (machine or _registered)(),
            number=int(env.get(environ.PASS) or 1),
            pairs=json.loads(env.get(environ.PAIRS) or "{}"),
            mode=env.get(environ.MODE) or "full",
            offline=env.get(environ.OFFLINE) == "1",
            model_cap_bytes=int(env.get(environ.MODEL_CAP) or MODEL_CAP_BYTES),
            events=Path(events) if events else None,
            allow_machine_changes=env.get(environ.ALLOW_MACHINE_CHANGES) == "1",
            libraries=env.get(environ.LIBRARIES, ""),
            driven=bool(env.get(environ.SESSION)),
            root=Path(env.get(environ.ROOT) or paths.ROOT),
            benchmarks=Path(env.get(environ.BENCHMARKS) or paths.BENCHMARKS),
        )

    def to_env(self) -> dict[str, str]:
        """The variables that tell a process of this session."""
        return {
            environ.SESSION: self.id,
            environ.RUN: self.run,
            environ.MACHINE: self.machine,
            environ.PASS: str(self.number),
            environ.PAIRS: json.dumps(self.pairs) if self.pairs else "",
            environ.MODE: self.mode,
            environ.OFFLINE: "1" if self.offline else "0",
            environ.MODEL_CAP: str(self.model_cap_bytes),
            environ.EVENTS: str(self.events or ""),
            environ.ALLOW_MACHINE_CHANGES: "1" if self.allow_machine_changes else "0",
            environ.LIBRARIES: self.libraries,
            environ.ROOT: str(self.root),
            environ.BENCHMARKS: str(self.benchmarks),
        }

    def enter(self) -> None:
        """Tell this process, whose plan depends on it, and all that it starts."""
        os.environ.update(self.to_env())


def new_name() -> str:
    """A name for a session that begins now, in this process."""
    return f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"


def _of_parent() -> str:
    """A name for what the workers of one `asv run` have in common: asv's process.

    A container's first process has a parent that it cannot see, and is named by itself.
    """
    parent = os.getppid()
    started = processes.started(parent)
    if started is None:
        parent, started = os.getpid(), processes.started(os.getpid())
    return f"asv-{parent}-{started}"


def _registered() -> str:
    """This machine's name in asv's registry."""
    node = platform.node()
    try:
        registry = json.loads((Path.home() / ".asv-machine.json").read_text())
    except (OSError, ValueError):
        return node
    entries = {name: entry for name, entry in registry.items() if isinstance(entry, dict)}
    if node not in entries and len(entries) == 1:
        node = next(iter(entries))
    return str(entries.get(node, {}).get("machine", node))
