"""What a sweep needs before its first suite: asv's environment, the data, the matmul peak."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from cputrain import asvenv, atomic, paths, placement, plan, record
from cputrain.errors import UsageError
from cputrain.machine import peak
from cputrain.model import flops
from cputrain.progress import Progress


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
            what = error.strerror
            raise UsageError(
                f"cannot write in {folder}: {what}; make it a folder of yours"
            ) from None


def everything(
    asv: asvenv.Asv, suites: list[plan.Planned], offline: bool, progress: Progress
) -> None:
    """asv's environment, the data, and this machine's matmul peak."""
    if placement.COMPILED.exists():  # of workers that were killed with their launcher
        shutil.rmtree(placement.COMPILED)
    if not asv.python().exists():
        progress.say("asv builds its environment from requirements.txt: 1-2 minutes, 2 GB")
    if not asv.is_built(record.commit()[0] or ""):
        asv.build(offline)
    python = asv.python()
    cells = runnable(suites)
    wanted = paths.STATE / "experiments.json"
    atomic.write_json(wanted, [cell.experiment.to_json() for cell in cells])
    words = ["cputrain.data", "--root", str(paths.DATA), "--experiments", str(wanted)]
    words += ["--offline"] if offline else []
    progress.say(asvenv.in_environment(python, words, "preparing the data"))
    measure_peak(asv.machine, python, cells, progress)


def runnable(suites: list[plan.Planned]) -> list[plan.Cell]:
    """The cells that this machine can run."""
    return [cell for p in suites for cell in p.cells if cell.why_not is None]


def measure_peak(
    machine: str, python: Path, cells: list[plan.Cell], progress: Progress, again: bool = False
) -> None:
    """The matmul rates that the cells' types and thread counts reach here; the best seen are kept.

    Args:
        machine: whose machine.json they go to.
        python: the measured stack.
        cells: what runs.
        progress: prints.
        again: also those that are known: the best of two times is closer to the peak.
    """
    path = paths.RESULT / machine / "machine.json"
    for kind, counts in peaks_needed(cells).items():
        known = {int(n) for n in peak.read(path).get(peak.FIELDS[kind], {})}
        missing = [str(n) for n in sorted(counts if again else counts - known)]
        if not missing:
            continue
        progress.say(f"measuring the {kind} matmul peak with {', '.join(missing)} threads")
        words = ["cputrain.machine.peak", "--types", kind, "--threads", *missing]
        said = asvenv.in_environment(python, words, "measuring the peak", only=placement.PASSED_ON)
        peak.merge(path, json.loads(said))


def peaks_needed(cells: list[plan.Cell]) -> dict[str, set[int]]:
    """By type of number that a cell multiplies: the thread counts that have cores of their own."""
    needed: dict[str, set[int]] = {}
    for cell in cells:
        place = placement.place(cell.experiment)
        if place.threads <= place.physical_cores:
            for kind in flops.flops_per_step(cell.experiment).by_type:
                needed.setdefault(kind, set()).add(place.threads)
    return needed
