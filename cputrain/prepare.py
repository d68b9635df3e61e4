"""What a sweep needs before its first suite: asv's environment, the data, the matmul peak."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from cputrain import asvenv, paths, placement, plan, record
from cputrain.errors import UsageError
from cputrain.machine import peak
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
    sizes = sorted({cell.experiment.model.vocab_size for cell in cells})
    words = ["cputrain.data", "--root", str(paths.DATA), *(["--offline"] if offline else [])]
    for size in sizes:
        words += ["--vocab-size", str(size)]
    progress.say(asvenv.in_environment(python, words, "preparing the data"))
    measure_peak(asv.machine, python, cells, progress)


def runnable(suites: list[plan.Planned]) -> list[plan.Cell]:
    """The cells that this machine can run."""
    return [cell for p in suites for cell in p.cells if cell.why_not is None]


def measure_peak(
    machine: str, python: Path, cells: list[plan.Cell], progress: Progress, again: bool = False
) -> None:
    """The matmul rate that the cells' thread counts reach here; the best one seen is kept.

    Args:
        machine: whose machine.json it goes to.
        python: the measured stack.
        cells: what runs.
        progress: prints.
        again: also the counts that are known: the best of two times is closer to the peak.
    """
    path = paths.RESULT / machine / "machine.json"
    places = [placement.place(cell.experiment) for cell in cells]
    counts = {place.threads for place in places if place.threads <= place.physical_cores}
    known = {int(n) for n in peak.read(path).get(peak.FIELD, {})}
    missing = sorted(counts if again else counts - known)
    if not missing:
        return
    progress.say(f"measuring the matmul peak with {', '.join(map(str, missing))} threads")
    words = ["cputrain.machine.peak", "--threads", *map(str, missing)]
    peak.merge(
        path,
        json.loads(
            asvenv.in_environment(python, words, "measuring the peak", only=placement.PASSED_ON)
        ),
    )
