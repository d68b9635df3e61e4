"""The `engines` verb: every engine that this machine has, on the same work, in turns."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from cputrain import paths
from cputrain.machine import lock
from cputrain.machine.controls import journal, leftover
from cputrain.machine.controls.files import ALLOW
from cputrain.run import names, stacks
from cputrain.sweep import asvenv, plan, prepare
from cputrain.sweep.progress import Progress
from cputrain.sweep.side_by_side import lineup, outcome
from cputrain.sweep.side_by_side.rounds import Rounds
from cputrain.sweep.side_by_side.shown import Shown

ROUNDS = 3
MOST_SEEDS = 10**6


def main(args: argparse.Namespace) -> int:
    """Measure, write and print the table; 1 where some cell failed."""
    from cputrain.machine import registry

    mode = "quick" if args.quick else "full"
    rounds = args.rounds or (1 if args.quick else ROUNDS)
    seed = secrets.randbelow(MOST_SEEDS) if args.seed is None else args.seed
    os.environ[ALLOW] = "0"
    progress = Progress(rounds)
    held = lock.hold()
    for line in leftover.put_back(journal.path()) or []:
        progress.say(f"left over from an earlier run: {line}")
    known, broken = plan.survey()
    plan.refuse(broken, lineup.SHAPES)
    blocks = lineup.blocks(known, args.inductor)
    prepare.folders()
    registered = registry.register()
    progress.say(registered.note or "")
    asv = asvenv.Asv(mode, registered.name)
    turns = list(lineup.turns(blocks, rounds, seed))
    shown = Shown(progress, turns)
    shown.begin(registered.name, blocks, rounds, seed)
    run = _run(asv, seed, args.offline)
    _stop_on_signals(run, progress, len(turns))
    try:
        prepare.everything(asv, blocks, args.offline, progress)
        run.take(turns, shown.turn)
        cells = prepare.runnable(blocks)
        prepare.measure_peak(asv.machine, asv.python(), cells, progress, again=True)
    finally:
        progress.close()
        held.close()
    return _tell(asv, run, blocks, shown)


def _run(asv: asvenv.Asv, seed: int, offline: bool) -> Rounds:
    env = {
        "CPUTRAIN_MACHINE": asv.machine,
        "CPUTRAIN_MODE": asv.mode,
        "CPUTRAIN_OFFLINE": "1" if offline else "0",
        "CPUTRAIN_MODEL_CAP": "0",  # the suites keep the models of the same experiments
    }
    session = f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
    folder = paths.output_folder(asv.machine, asv.mode) / names.SUITE
    return Rounds(folder, pythons(asv), session, seed, env)


def pythons(asv: asvenv.Asv) -> dict[str, Path]:
    """The interpreter of each environment: the measured stack's, and IPEX's where it is built."""
    ipex = asvenv.Asv(asv.mode, asv.machine, stacks.IPEX).python()
    return {stacks.MAIN: asv.python()} | ({stacks.IPEX: ipex} if ipex.exists() else {})


def _stop_on_signals(run: Rounds, progress: Progress, turns: int) -> None:
    def stop(number: int, frame: FrameType | None) -> NoReturn:
        run.stop()
        progress.close()
        kept = f"the records of {run.done} of {turns} workers are kept in {run.folder}"
        print(f"bench.py: stopped; {kept}, the table is as it was", file=sys.stderr)
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def _tell(asv: asvenv.Asv, run: Rounds, blocks: Sequence[plan.Planned], shown: Shown) -> int:
    """Write the tables, print this run's."""
    from cputrain.sweep import exporting

    cells = outcome.cells(asv.machine, asv.mode, blocks, run)
    written = outcome.write(asv.machine, asv.mode, cells)
    summary = exporting.export()
    shown.table(written.rows)
    for problem in dict.fromkeys(map(str, (*written.problems, *summary.problems))):
        shown.progress.say(f"problem: {problem}")
    shown.progress.say(f"tables: result/README.md and {written.path.relative_to(paths.ROOT)}")
    return 1 if shown.progress.failed else 0
