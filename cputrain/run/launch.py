"""Start a worker for one experiment, talk to it, and end it and whatever it started.

It is a fresh interpreter (see `fresh`), or a parent that has imported the engine forks it (see
`forking`); `starting` decides. Its settings are applied before. The worker gets neither the
caller's stdout nor its stderr, dies with it, and may run for a limited time: between its turns,
where it is stopped, the clock of its deadline stands still.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import structs

from cputrain import environ
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.machine import processes
from cputrain.record import answers, requests
from cputrain.record.answers import Finished, Phase, Ready, Sampled, Watched
from cputrain.record.requests import (
    Command,
    FinishCommand,
    JobRequest,
    ProveCommand,
    SampleCommand,
    WorkerRequest,
)
from cputrain.run import failed, starting
from cputrain.run.deadline import Deadline
from cputrain.run.failed import CellFailed
from cputrain.run.family import Family, WillNotStop, adopt_orphans
from cputrain.run.forking import Parents
from cputrain.run.placement import place

PATIENCE_S = 0.25

A = TypeVar("A", Ready, Sampled, Watched, Finished)


class Worker:
    """One worker process.

    Attributes:
        phase: what it does, in its own words.
        left_over: what had to be ended after its last answer.
        forked: whether a parent forked it.
        deadline: the time that it has.

    Args:
        experiment: what it is to run.
        request: what else the worker is told.
        command: what to start instead of the worker, or of each rank where there are several,
            for tests of bad ones; the number of the descriptor to answer on is appended.
        compiled: folder for compiled code, removed when the worker ends; None makes a new one.
        keep: leave `compiled` for a later worker.
        parents: of forked workers, which are used where that is possible; None: a fresh
            interpreter.
        in_turns: stop it between its turns. Processes that train together by torchrun are not
            stopped, as they would time out: they wait for the next word, which takes no CPU.
        watch: called four times a second while an answer is waited for; what it raises goes on.
    """

    def __init__(
        self,
        experiment: Experiment,
        request: WorkerRequest,
        command: Sequence[str] = (),
        compiled: Path | None = None,
        keep: bool = False,
        parents: Parents | None = None,
        in_turns: bool = False,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        experiment = specs.settle(experiment)
        self.placement = place(experiment)
        self.phase = "starting"
        self.left_over: str | None = None
        self._watch = watch
        self._stops = in_turns and not self.placement.ranks
        self._looks = True
        self._oom_kills = processes.oom_kills()
        self.deadline = Deadline(float(experiment.budget.deadline_s))
        adopt_orphans()
        started = starting.start(experiment, self.placement, command, compiled, parents)
        self.process, self.forked, self._wire = started.process, started.forked, started.wire
        self._compiled = None if keep else started.compiled
        self.family = Family(self.process.pid, f"{environ.WORKER}={started.mark}")
        self._send(
            JobRequest(
                **structs.asdict(request),
                experiment=experiment.to_json(),
                placement=self.placement,
                launched=time.monotonic(),
            )
        )

    def ready(self, within_s: float | None = None) -> Ready:
        """Wait until the worker is warm and its settings are in force; its report.

        Args:
            within_s: the seconds that it has for that, of those of its deadline; None is all.

        Raises:
            CellFailed: it failed, died or ran out of time. The worker is gone then.
        """
        with self.deadline.within(within_s), self._turn(resume=False):
            return self._answer(Ready)

    def sample(self, beside: bool = False, steps: int | None = None) -> Sampled:
        """Train a sample's steps; the worker's report of them.

        Args:
            beside, steps: see `record.requests.SampleCommand`.

        Raises:
            CellFailed: see `ready`.
        """
        self.phase = "training"
        self._looks = False  # who is there it has started before, and nobody shall take its CPU
        try:
            return self._ask(SampleCommand(beside=beside, steps=steps), Sampled)
        finally:
            self._looks = True

    def watch(self) -> Watched:
        """Have a worker of `cputrain.worker.parts` take its steps. Raises CellFailed."""
        self.phase = "training, watched part by part"
        return self._ask(SampleCommand(), Watched)

    def prove(self) -> Finished:
        """Have the worker prove so far that it trained, and live on. Raises CellFailed."""
        return self._ask(ProveCommand(), Finished)

    def renew(self) -> None:
        """Give it the time of its deadline again: another cell is measured beside it."""
        self.deadline.renew()

    def finish(self) -> Finished:
        """Have the worker save its model and end; its last report. Raises CellFailed."""
        report = self._ask(FinishCommand(), Finished, last=True)
        try:
            self.process.wait(timeout=max(0.0, min(10.0, self.deadline.left_s)))
        except subprocess.TimeoutExpired:
            self.left_over = "the worker did not end by itself and was killed"
        self.end()
        return report

    def _ask(self, command: Command, kind: type[A], last: bool = False) -> A:
        with self._turn(last=last):
            self._send(command)
            return self._answer(kind)

    @contextlib.contextmanager
    def _turn(self, resume: bool = True, last: bool = False) -> Iterator[None]:
        """Let the worker run, and stop it again; the time counts for its deadline."""
        if resume:
            self.deadline.begin_turn()
            if self._stops:
                self.family.resume()
        yield
        self.deadline.end_turn()
        if self._stops and not last:
            try:
                self.family.stop()
            except WillNotStop as error:
                self.end()
                raise CellFailed("failed", str(error)) from error

    def end(self) -> None:
        """Kill the worker and every process that it started. Safe to call again."""
        self.process.kill()
        self.process.wait()
        self.family.kill()
        if self._compiled is not None and self._compiled.exists():
            shutil.rmtree(self._compiled, ignore_errors=True)
        self._wire.close()
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def _send(self, message: JobRequest | Command) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(requests.encode(message))
            self.process.stdin.flush()
        except BrokenPipeError:
            return  # it died: the next answer says how

    def _answer(self, kind: type[A]) -> A:
        while True:
            line = self.line()
            try:
                message = answers.decode(line)
            except msgspec.DecodeError as error:
                self.end()
                reason = f"the worker's answer cannot be read: {error}"
                raise CellFailed("failed", reason) from error
            if isinstance(message, kind):
                return message
            if not isinstance(message, Phase):
                self.end()
                raise failed.answered(message, kind)
            self.phase = message.what

    def line(self) -> bytes:
        """The next line that the worker answers, as it is. Raises CellFailed."""
        while True:
            if (line := self._wire.line()) is not None:
                return line
            died = self.process.poll() is not None
            self._wire.read(0.0 if died else PATIENCE_S)
            if died and not self._wire.has_line:
                self.end()
                ranks = bool(self.placement.ranks)
                code, printed = self.process.wait(), self._wire.printed
                raise failed.death(code, self.phase, printed, ranks, self._oom_kills)
            if self._looks:
                self.family.look()
            self._watch()
            if self.deadline.is_over:
                self.end()
                raise failed.timeout(self.deadline.given_s, self.phase, self._wire.printed)
