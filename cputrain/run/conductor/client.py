"""A cell's connection to the conductor, which bench.py has started or the cell starts itself."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from cputrain import environ, paths
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.run.conductor import protocol, sockets
from cputrain.run.conductor.protocol import Ended, Expect, Gone, Refused, Started, Taken
from cputrain.run.failed import CellFailed

START_S = 30.0
LOST = "the conductor, which owns the workers, died; its log is {log}"

T = TypeVar("T", Started, Taken, Ended)


class Lease:
    """What one cell asks of the conductor; without bench.py, of one of its own.

    Args:
        path: of the conductor's socket; the one that this process's environment says, where left
            out.

    Raises:
        CellFailed: bench.py's conductor cannot be reached.
    """

    def __init__(self, path: Path | None = None) -> None:
        text = environ.value(environ.CONDUCTOR)
        path = path or (Path(text) if text else None)
        self._own: subprocess.Popen[bytes] | None = None
        if path is None:
            self._socket, other = socket.socketpair()
            with other:
                self._own = _started([str(other.fileno())], other, {})
        else:
            self._socket = socket.socket(socket.AF_UNIX)
            try:
                self._socket.connect(str(path))
            except OSError as error:
                raise CellFailed("failed", f"{path}: {error.strerror}: {_lost()}") from error
        self._lines = self._socket.makefile("rb")

    def ask(self, ask: protocol.Ask, kind: type[T]) -> T:
        """The answer.

        Raises:
            CellFailed: the worker gave none and is gone, or the conductor is.
        """
        line = b""
        with contextlib.suppress(OSError):
            self._socket.sendall(files.encode(ask) + b"\n")
            line = self._lines.readline()
        if not line:
            raise CellFailed("failed", _lost())
        try:
            reply = protocol.REPLY.decode(line)
        except msgspec.DecodeError as error:
            raise CellFailed("failed", f"the conductor's answer cannot be read: {error}") from error
        if isinstance(reply, kind):
            return reply
        if isinstance(reply, Gone):
            raise CellFailed(reply.failed.status, reply.failed.reason)
        if isinstance(reply, Refused):
            raise CellFailed("failed", reply.reason)
        raise CellFailed("failed", f"the conductor answered {type(reply).__name__}")

    def close(self) -> None:
        """End the lease: the cell's worker is ended. Safe to call again."""
        self._lines.close()
        self._socket.close()
        if self._own is not None:
            self._own.wait()
            self._own = None


class Listening:
    """A conductor that serves all cells of one asv call, while this object is open.

    Args:
        python: of the environment that has the engines.
        env: variables of the session.
        project: folder of the code that it and its workers run.

    Attributes:
        path: what `environ.CONDUCTOR` says to the cells.
    """

    def __init__(self, python: Path, env: Mapping[str, str], project: Path = paths.PROJECT) -> None:
        self.path = sockets.made()
        self._control, other = socket.socketpair()
        with other:
            words = [str(other.fileno()), str(self.path)]
            self._process = _started(words, other, env, str(python), project)
        self._control.settimeout(START_S)
        try:
            ready = self._control.recv(16)
        except TimeoutError:
            self._process.kill()
            self.close()
            raise CellFailed("failed", f"the conductor did not start in {START_S:g} s") from None
        if not ready:
            self.close()
            raise CellFailed("failed", _lost())

    def expect(self, run: str, experiment: Experiment) -> None:
        """Have what workers of an asv call are forked from started while asv starts.

        Args:
            run: the call.
            experiment: of the first of them, settled.

        Raises:
            CellFailed: it cannot be started.
        """
        lease = Lease(self.path)
        try:
            lease.ask(Expect(run=run, experiment=experiment.to_json()), Ended)
        finally:
            lease.close()

    def why_lost(self) -> str | None:
        """One line where the conductor has died; None while it lives."""
        return None if self._process.poll() is None else _lost()

    def close(self) -> None:
        """End the conductor and all that it owns; wait for that."""
        self._control.close()
        self._process.wait()
        sockets.remove(self.path)


def _log() -> Path:
    return paths.STATE / "logs" / "conductor.log"


def _lost() -> str:
    return LOST.format(log=_log())


def _started(
    words: list[str],
    line: socket.socket,
    env: Mapping[str, str],
    python: str = sys.executable,
    project: Path = paths.PROJECT,
) -> subprocess.Popen[bytes]:
    _log().parent.mkdir(parents=True, exist_ok=True)
    with _log().open("ab") as log:
        return subprocess.Popen(
            [python, "-P", "-m", "cputrain.run.conductor", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=project,
            env={**os.environ, **env, "PYTHONPATH": str(project)},
            pass_fds=(line.fileno(),),
            start_new_session=True,
        )
