"""What a sweep needs before its first suite: asv's environment, the data, the machine's rates."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from cputrain import atomic, environ, paths
from cputrain.engines import ahead
from cputrain.errors import UsageError
from cputrain.machine import facts, measure, peak, topology
from cputrain.machine import measurements as machine_record
from cputrain.model import flops
from cputrain.run import placement, recording
from cputrain.sweep import asvenv, plan
from cputrain.sweep.progress import Progress


def folders() -> None:
    """Make the folders that a sweep writes to.

    Raises:
        UsageError: one cannot be made or written.
    """
    for folder in (paths.DATA, paths.OUTPUT, paths.RESULT, paths.STATE):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                continue
        except OSError as error:
            reason = error.strerror
            raise UsageError(
                f"cannot write in {folder}: {reason}; make it a folder of yours"
            ) from None


def everything(
    asv: asvenv.Asv, suites: list[plan.Planned], offline: bool, progress: Progress
) -> None:
    """asv's environment, the data, and this machine's rates."""
    if placement.COMPILED.exists():  # of workers that were killed with their launcher
        shutil.rmtree(placement.COMPILED)
    if not asv.stands():
        progress.say("asv builds its environment from requirements.txt: 1-2 minutes, 2.5 GB")
    asvenv.wait_for_early_build()
    if not asv.is_built(recording.commit()[0] or ""):
        asv.build(offline)
    python = asv.python()
    cells = runnable(suites)
    ahead.libraries([cell.experiment for cell in cells], progress.say)
    if of_corpus := [planned for planned in suites if planned.takes_corpus]:
        data(python, runnable(of_corpus), offline, progress)
    measure_peak(asv.machine, python, cells, progress)


def data(python: Path, cells: list[plan.PlannedCell], offline: bool, progress: Progress) -> None:
    """The corpus, and the tokens that cells make of it."""
    wanted = paths.STATE / "experiments.json"
    atomic.write_json(wanted, [cell.experiment.to_json() for cell in cells])
    words = ["cputrain.data", "--root", str(paths.DATA), "--experiments", str(wanted)]
    words += ["--offline"] if offline else []
    for line in asvenv.in_environment(python, words, "preparing the data").splitlines():
        progress.say(line)


def runnable(suites: list[plan.Planned]) -> list[plan.PlannedCell]:
    """The cells that this machine can run."""
    return [cell for p in suites for cell in p.cells if cell.why_not is None]


FIRST_S, AGAIN_S = 10.0, 7.0
"""Seconds for measuring at a sweep's start, and at the end of a full one, imports included: below
20 in all."""


def measure_peak(
    machine: str,
    python: Path,
    cells: list[plan.PlannedCell],
    progress: Progress,
    again: bool = False,
) -> None:
    """Matrix products and memory bandwidth by number of threads; the best seen are kept.

    Args:
        machine: whose machine.json they go to.
        python: the measured stack.
        cells: what runs.
        progress: prints.
        again: also what is known: the best of two times is closer to the peak.
    """
    path = paths.RESULT / machine / "machine.json"
    content = machine_record.read(path)
    wanted = tasks(cells, topology.read_topology().physical_cores)
    known = [task for task in wanted if _is_known(task, content)]
    missing = [task for task in wanted if task not in known]
    todo = [*missing, *known] if again else missing
    seconds = _seconds(AGAIN_S if again else FIRST_S)
    if not todo or not seconds:
        return
    progress.say(f"measuring matrix products and memory bandwidth, {seconds:.0f} s at most")
    words = ["cputrain.machine.measure", "--seconds", str(seconds), *map(str, todo)]
    printed = asvenv.in_environment(python, words, "measuring the peak", only=placement.PASSED_ON)
    unknown = {"unknown_facts": facts.read_facts().reasons}
    machine_record.merge(path, json.loads(printed) | unknown)


def _seconds(usual: float) -> float:
    seconds = environ.value(environ.MEASURE_S)
    try:
        return usual if seconds is None else float(seconds)
    except ValueError:
        raise UsageError(f"{environ.MEASURE_S} = {seconds!r}: not a number of seconds") from None


def _is_known(task: measure.Task, content: dict[str, Any]) -> bool:
    return str(task.threads) in content.get(machine_record.FIELDS[task.kind], {})


def tasks(cells: list[plan.PlannedCell], cores: int) -> list[measure.Task]:
    """What is measured here: what the cells need first, then every power of two and all cores.

    Args:
        cells: what runs; int8 is measured where they need it only.
        cores: physical ones that may be used.
    """
    usual = sorted({*(1 << i for i in range(cores.bit_length())), cores})
    needed = peaks_needed(cells)
    pairs = [(kind, n) for kind in peak.FIELDS for n in sorted(needed.get(kind, ()))]
    pairs += [(kind, n) for kind in ("bandwidth", "fp32", "bf16") for n in usual]
    return [measure.Task(kind, n) for kind, n in dict.fromkeys(pairs)]


def peaks_needed(cells: list[plan.PlannedCell]) -> dict[str, set[int]]:
    """By type of number that a cell multiplies: the thread counts that have cores of their own."""
    needed: dict[str, set[int]] = {}
    for cell in cells:
        place = placement.place(cell.experiment)
        if place.threads <= place.physical_cores:
            for kind in flops.flops_per_step(cell.experiment).by_type:
                needed.setdefault(kind, set()).add(place.threads)
    return needed
