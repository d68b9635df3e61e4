"""One environment's conductor, and a lease of its workers."""

from __future__ import annotations

from pathlib import Path

from cputrain import environ, paths
from cputrain.errors import RunError
from cputrain.run import compiled, stacks
from cputrain.run.conductor.client import Lease, Listening
from cputrain.run.failed import CellFailed
from cputrain.run.session import Session


class Conducted:
    """A conductor and the lease of its workers, which are fresh interpreters of its environment.

    Args:
        label: what it is called.
        python: its interpreter.
        session: that its workers belong to; what is compiled is of this session alone.
        project: folder of the code that they run.
        commit, dirty: of that code, where it is not the working tree's.
        stack: name of the environment (see `run.stacks`).

    Attributes:
        run: what its workers are asked for with; those of another run are ended then.

    Raises:
        RunError: the conductor does not start, or cannot be reached; then it is ended.
    """

    def __init__(
        self,
        label: str,
        python: Path,
        session: Session,
        project: Path = paths.PROJECT,
        commit: tuple[str | None, list[str]] | None = None,
        stack: str = stacks.MAIN,
    ) -> None:
        self.label, self.session, self.commit = label, session, commit
        self.run = session.run
        try:
            env = session.to_env() | {environ.STACK: stack}
            self._conductor = Listening(python, env, project)
            try:
                self.lease = Lease(self._conductor.path)
            except CellFailed:
                self._conductor.close()
                raise
        except CellFailed as failure:
            raise RunError(f"{label}: {failure.reason}") from failure

    def close(self) -> None:
        """End its workers and the conductor."""
        self.lease.close()
        self._conductor.close()
        compiled.remove(self.session)
