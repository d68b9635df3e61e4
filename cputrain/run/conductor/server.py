"""The conductor: owns the workers of one run, lets one of them run at a time.

Single-threaded: it forks, and it is the only sender of SIGSTOP and SIGCONT. A cell leases workers
over a connection; its end ends the lease: the cell's worker is gone, the references stay, stopped.
"""

from __future__ import annotations

import socket
import traceback
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec

from cputrain.experiment import Experiment
from cputrain.record.answers import Failed, Finished
from cputrain.record.part import Failure
from cputrain.run import family
from cputrain.run.conductor import protocol
from cputrain.run.conductor.connection import Connection, LeaseEnded, hung_up
from cputrain.run.conductor.protocol import (
    End,
    Ended,
    Expect,
    Finish,
    Gone,
    Refer,
    Start,
    Started,
    Take,
)
from cputrain.run.failed import CellFailed
from cputrain.run.forking import ParentFailed, Parents
from cputrain.run.launch import Worker
from cputrain.run.placement import place

MOST_REFERENCES = 4
"""That are alive together: a suite's, one for each engine, and another suite's to come back to."""


class Conductor:
    """Serves leases one after the other.

    Args:
        owner: a connection whose end is that of whoever started the conductor.
    """

    def __init__(self, owner: socket.socket) -> None:
        self._owner = owner
        self._run = ""
        self._parents = Parents()
        self._workers: dict[str, Worker] = {}
        self._references: dict[str, Started] = {}
        self._unsaved: dict[str, Finished] = {}
        self._lease: Connection | None = None

    def serve(self, line: socket.socket) -> None:
        """Serve one lease to its end."""
        self._lease = lease = Connection(line, self._owner)
        try:
            while (ask := lease.ask()) is not None:
                lease.tell(self._reply(ask))
        except (LeaseEnded, ConnectionError):
            pass  # the cell was killed: its worker goes, as at an orderly end
        finally:
            self._lease = None
            lease.close()
            references = {started.worker for started in self._references.values()}
            for name in [name for name in self._workers if name not in references]:
                self._drop(name)
            family.reap()

    def end(self) -> None:
        """End every worker and parent."""
        for name in list(self._workers):
            self._drop(name)
        self._parents.end()
        family.reap()

    def _reply(self, line: bytes) -> protocol.Reply:
        """What comes of a request; one line says what is wrong, whatever it is."""
        try:
            ask = protocol.ASK.decode(line)
        except msgspec.DecodeError as error:
            return _gone("failed", f"the conductor cannot read what it is asked: {error}")
        try:
            return self._do(ask)
        except CellFailed as failure:
            return self._failed(ask, failure.status, failure.reason)
        except (ParentFailed, OSError, ValueError) as error:
            return self._failed(ask, "failed", str(error))
        except LeaseEnded:
            raise
        except Exception as error:
            traceback.print_exc()  # to the conductor's log
            return self._failed(ask, "failed", f"in the conductor: {type(error).__name__}: {error}")

    def _do(self, ask: protocol.Ask) -> protocol.Reply:
        match ask:
            case Expect():
                self._take_up(ask.run)
                experiment = Experiment.from_json(ask.experiment)
                self._parents.expect(experiment, place(experiment))
                return Ended()
            case Start():
                self._take_up(ask.run)
                self._unsaved.clear()  # the cell goes on, so it has written what it was told
                return self._start(ask, self._watch, None if ask.fresh else self._parents)
            case Refer():
                self._take_up(ask.run)
                return self._refer(ask)
            case Take():
                sampled = self._worker(ask.worker).sample(beside=ask.beside)
                return protocol.Taken(sampled=sampled)
            case Finish():
                worker = self._worker(ask.worker)
                finished = worker.finish()
                del self._workers[ask.worker]
                return Ended(finished=finished, left_over=worker.left_over)
            case End():
                self._worker(ask.worker)
                self._drop(ask.worker)
                return Ended()

    def _worker(self, name: str) -> Worker:
        try:
            return self._workers[name]
        except KeyError:
            raise CellFailed("failed", f"worker {name} is not there any more") from None

    def _take_up(self, run: str) -> None:
        """What is left of another run goes: its references and parents."""
        if run == self._run:
            return
        self.end()
        self._run = run

    def _start(self, ask: Start, watch: Callable[[], None], parents: Parents | None) -> Started:
        self._parents.settle()
        worker = Worker(
            Experiment.from_json(ask.experiment),
            ask.request,
            compiled=None if ask.compiled is None else Path(ask.compiled),
            keep=ask.keep,
            parents=parents,
            in_turns=True,
            watch=watch,
        )
        name = uuid.uuid4().hex[:12]
        self._workers[name] = worker
        ready = worker.ready(ask.ready_in_s)
        placed = worker.placement
        return Started(worker=name, forked=worker.forked, placement=placed, ready=ready)

    def _refer(self, ask: Refer) -> Started:
        experiment = Experiment.from_json(ask.experiment)
        identity = f"{experiment.identity}, fresh" if ask.fresh else experiment.identity
        self._forget_the_dead()
        if (known := self._references.pop(identity, None)) is not None:
            self._references[identity] = known  # the last to go
            self._workers[known.worker].renew()
            return msgspec.structs.replace(known, proof=self._unsaved.get(identity))
        while len(self._references) >= MOST_REFERENCES:  # the one that was asked for longest ago
            self._drop(self._references.pop(next(iter(self._references))).worker)
        start = Start(
            run=ask.run,
            experiment=ask.experiment,
            request=ask.request,
            compiled=ask.compiled,
            keep=ask.compiled is not None,
        )
        parents = None if ask.fresh else self._parents
        started = self._start(start, self._watch_owner, parents)  # it outlives the cell
        proof = self._workers[started.worker].prove()
        self._references[identity] = started
        self._unsaved[identity] = proof
        return msgspec.structs.replace(started, proof=proof)

    def _drop(self, name: str) -> None:
        """End a worker, and forget it."""
        self._workers.pop(name).end()
        for identity in [i for i, started in self._references.items() if started.worker == name]:
            del self._references[identity]
            self._unsaved.pop(identity, None)

    def _forget_the_dead(self) -> None:
        for name in [n for n, worker in self._workers.items() if worker.process.poll() is not None]:
            self._drop(name)

    def _failed(self, ask: protocol.Ask, status: Failure, reason: str) -> Gone:
        """The worker that was asked is gone, or goes: nobody knows what it does."""
        named = getattr(ask, "worker", None)
        references = {started.worker for started in self._references.values()}
        if isinstance(ask, Refer) or named in references:
            reason = f"the reference beside it: {reason}"
        if named in self._workers:
            self._drop(named)
        self._forget_the_dead()
        return _gone(status, reason)

    def _watch(self) -> None:
        """Raise LeaseEnded where nobody waits for the answer any more."""
        self._watch_owner()
        if self._lease is not None:
            self._lease.watch()

    def _watch_owner(self) -> None:
        if hung_up(self._owner):
            raise LeaseEnded


def _gone(status: Failure, reason: str) -> Gone:
    return Gone(failed=Failed(status=status, reason=" ".join(reason.split())))
