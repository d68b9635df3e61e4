"""What the program says when it cannot go on: one line, an exit status, no traceback."""

from __future__ import annotations

UNWRITABLE = (PermissionError, FileExistsError, NotADirectoryError, IsADirectoryError)
"""Errors of folders and files that cannot be what they have to be: the user's to mend."""


class UsageError(Exception):
    """What was asked cannot be: the line says what, where, and what to do. Exit status 2."""


class RunError(Exception):
    """Something failed on the way: the line says what, where, and what to do. Exit status 1."""


class DidNotTrain(RuntimeError):
    """The model did not train the way it should: one line says how."""
