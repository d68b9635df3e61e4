"""A process of a measured environment that serves one request, and what it ended with."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cputrain import environ, paths
from cputrain.machine.parent import dies_with_parent
from cputrain.record import files
from cputrain.record.part import Part


@dataclass(frozen=True)
class ProcessEnd:
    """How a process ended.

    Attributes:
        status: its exit status, or minus the signal that ended it.
        last_line: of what it printed on standard error.
    """

    status: int
    last_line: str

    def __str__(self) -> str:
        return f"status {self.status}: {self.last_line}"


class RequestProcess:
    """A process that has just started, and waits for its request (see `run.one_request`).

    Args:
        python: the interpreter of the environment.
        module: what it runs.
        env: variables of the session.
        stack: name of the environment (see `run.stacks`).
        tells: whether it prints lines that `lines` gives.
    """

    def __init__(
        self, python: Path, module: str, env: Mapping[str, str], stack: str, tells: bool = False
    ) -> None:
        self._process = subprocess.Popen(
            [str(python), "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if tells else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, **env, "PYTHONPATH": str(paths.PROJECT), environ.STACK: stack},
            start_new_session=True,
            preexec_fn=dies_with_parent(),
        )

    def serve(self, request: Part) -> ProcessEnd:
        """Hand it the request, and wait for its end."""
        _, stderr = self._process.communicate(files.encode(request))
        last_line = (stderr.decode(errors="replace").strip() or "no output").split("\n")[-1]
        return ProcessEnd(self._process.returncode, last_line)

    def lines(self, request: Part) -> Iterator[bytes]:
        """Hand it the request; the lines that it prints, as they come, up to its end."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended; `end` says why
            process.stdin.write(files.encode(request))
            process.stdin.close()
        yield from process.stdout

    def end(self) -> ProcessEnd:
        """Wait for its end, once it has closed what it prints on."""
        assert self._process.stderr is not None
        stderr = self._process.stderr.read()
        last_line = (stderr.decode(errors="replace").strip() or "no output").split("\n")[-1]
        return ProcessEnd(self._process.wait(), last_line)

    def terminate(self) -> None:
        """Ask it to end, if it lives."""
        self._process.send_signal(signal.SIGTERM)
