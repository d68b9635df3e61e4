"""The main job: every planned suite through asv, one asv call each, then the tables."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from types import FrameType
from typing import Any, NoReturn

from cputrain import paths
from cputrain.errors import RunError
from cputrain.machine import libraries, lock
from cputrain.machine.controls import journal, leftover
from cputrain.machine.controls.files import ALLOW
from cputrain.results import ended
from cputrain.run.stacks import MAIN
from cputrain.sweep import environments, plan, prepare, resume, safekeeping
from cputrain.sweep.durations import Durations
from cputrain.sweep.progress import Progress
from cputrain.sweep.promise import Promise
from cputrain.sweep.state import State

PATIENCE_S = 0.5
DONE = (0, 2)
"""asv's exit status; 2: some cell failed, and asv has said so in its results."""


class Sweep:
    """Runs planned suites one after the other.

    Args:
        asvs: how asv is called, by environment; suites of others are left for another sweep.
        suites: what is to run.
        rounds: fresh workers for each cell; None is what each suite says.
        state: how far it is.
        progress: prints.
        env: what the workers' side is told, as environment variables.
        promise: what is changed on the machine meanwhile.
    """

    def __init__(
        self,
        asvs: environments.Asvs,
        suites: list[plan.Planned],
        rounds: int | None,
        state: State,
        progress: Progress,
        env: dict[str, str],
        promise: Promise,
    ) -> None:
        self.asvs, self.suites, self.rounds = asvs, suites, rounds
        self.state, self.progress, self.promise = state, progress, promise
        self.events = paths.STATE / "events.jsonl"
        self.env = {
            **env,
            "CPUTRAIN_ROOT": str(paths.ROOT),
            "CPUTRAIN_BENCHMARKS": str(paths.BENCHMARKS),
            "CPUTRAIN_SESSION": state.session,
            "CPUTRAIN_MACHINE": asvs[MAIN].machine,
            "CPUTRAIN_MODE": asvs[MAIN].mode,
            "CPUTRAIN_EVENTS": str(self.events),
        }
        self.process: subprocess.Popen[bytes] | None = None

    def run(self, until: float | None, estimate: Durations) -> list[str]:
        """Run every suite that is not done; the names of those left out for lack of time.

        Args:
            until: `time.monotonic()` after which no suite may be expected to end, or None.
            estimate: how long suites take.
        """
        left_out = []
        todo = [planned for planned in self.suites if planned.key not in self.state.done]
        for planned in todo:
            if planned.stack not in self.asvs:
                continue
            expected = estimate.suite_s(planned, planned.rounds(self.rounds))
            if until is not None and time.monotonic() + expected > until:
                left_out.append(planned.key)
                continue
            self.one(planned)
            self.state = self.state.after(planned.key)
        self.state.save(finished={p.key for p in self.suites} <= {*self.state.done})
        return left_out

    def one(self, planned: plan.Planned) -> None:
        """Run one suite through asv and print its cells as they come.

        Raises:
            RunError: asv itself failed; a failed cell is not that.
        """
        asv = self.asvs[planned.stack]
        self.events.write_text("")
        safekeeping.keep(asv.results, asv.copies)
        self.progress.suite(planned)
        words = ["--bench", planned.pattern(), "--record-samples"]
        words += ["--attribute", f"rounds={planned.rounds(self.rounds)}"]
        run = uuid.uuid4().hex[:12]
        env = {**self.env, "CPUTRAIN_RUN": run}
        self.process = asv.start(planned.key, words, env)
        with self.events.open() as events:
            while self.process.poll() is None:
                self._follow(events)
                try:
                    self.process.wait(PATIENCE_S)
                except subprocess.TimeoutExpired:
                    continue
            self._follow(events)
        status, self.process = self.process.returncode, None
        if status in DONE:
            self._name_the_dead(planned, run)
        self.progress.suite_done()
        kept, line = self.promise.kept(planned.name)
        self.progress.failed += not kept
        self.progress.say(line or "")
        if status not in DONE:
            raise RunError(f"asv stopped in {planned.key}: {asv.log_tail(planned.key)}")

    def _name_the_dead(self, planned: plan.Planned, run: str) -> None:
        """Count cells as failed whose process died and could not say so itself."""
        asv = self.asvs[planned.stack]
        folder = paths.output_folder(asv.machine, asv.mode) / planned.name
        cells = [cell.name for cell in planned.cells if cell.why_not is None]
        workers = planned.rounds(self.rounds)
        for cell, reason in ended.without_number(folder, run, cells, workers).items():
            self.progress.failed += 1
            self.progress.say(f"  {cell}  failed: {reason}")

    def _follow(self, events: Any) -> None:
        for line in events:
            self.progress.event(json.loads(line))

    def stop(self) -> None:
        """Kill asv; its processes and the worker die with it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def main(args: argparse.Namespace) -> int:
    """The `run` verb; 1 where some cell failed."""
    from cputrain.machine import registry
    from cputrain.sweep import exporting

    if given := libraries.given(args.library):
        os.environ[libraries.VARIABLE] = given
    mode = "quick" if args.quick else "full"
    os.environ[ALLOW] = "1" if args.allow_machine_changes else "0"
    rounds = args.rounds or (1 if args.quick else None)
    progress = Progress(rounds)
    held = lock.hold()
    for line in leftover.put_back(journal.path()) or []:
        progress.say(f"left over from an earlier run: {line}")
    known, broken = plan.survey()
    plan.refuse(broken, args.bench)
    for problem in broken:
        progress.say(f"left out: {problem.line}")
    suites = plan.choose(known, args.bench, args.quick, args.ipex)
    prepare.folders()
    registered = registry.register()
    machine = registered.name
    progress.say(registered.note or "")
    asvs = environments.needed(mode, machine, suites)
    asv = asvs[MAIN]
    state = State.open(
        paths.STATE / f"sweep-{mode}.json", resume.wanted(args, rounds, suites), args.fresh
    )
    estimate = Durations([paths.output_folder(machine, m) for m in paths.MODES])
    todo = [planned for planned in suites if planned.key not in state.done]
    progress.begin(machine, suites, todo, estimate, environments.building_s(asvs))
    if not args.ipex:
        also = plan.only_ipex(known, args.bench, args.quick)
        progress.say(environments.offer(also, mode, machine))
    if state.done:
        progress.say(
            f"going on where the last run stopped: {len(state.done)} of {len(suites)} suites are "
            "done (--fresh starts over)"
        )
    promise = Promise(todo)
    progress.say(promise.line() or "")
    until = time.monotonic() + 60 * args.budget if args.budget else None
    env = {
        "CPUTRAIN_OFFLINE": "1" if args.offline else "0",
        "CPUTRAIN_MODEL_CAP": str(int(args.model_cap * 1e6)),
    }
    state.save()
    sweep = Sweep(asvs, suites, rounds, state, progress, env, promise)

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        changed = journal.path().exists()
        sweep.stop()
        progress.close()
        if changed:
            print(f"bench.py: {leftover.wait(journal.path())}", file=sys.stderr)
        print("bench.py: stopped; what is done is kept, the next run goes on", file=sys.stderr)
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        for line in safekeeping.mend(asv.results, asv.copies):
            progress.say(line)
        prepare.everything(asv, suites, args.offline, progress)
        environments.ipex_or_not(asvs, args.offline, progress)
        left_out = sweep.run(until, estimate)
        prepare.measure_peak(machine, asv.python(), prepare.runnable(suites), progress, again=True)
    finally:
        progress.close()
        held.close()
    summary = exporting.export()
    progress.end(summary, machine, suites, left_out, args.quick)
    return 1 if progress.failed else 0
