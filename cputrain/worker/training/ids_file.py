"""A file of token ids: written many documents at a time, read a slice at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np

TOGETHER = 1 << 20
"""Tokens that are written at a time."""


class IdsOnDisk:
    """A row of numbers in a file, of which slices are read: never more than these in memory.

    It stands for an array where that is only measured and sliced, as `data.windows.Packed` does.

    Args:
        path: of the file, open as long as this lives.
        dtype: of the numbers in it.

    Raises:
        OSError: it cannot be read.
    """

    ndim = 1

    def __init__(self, path: Path, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._count = int(os.fstat(self._handle).st_size // self._dtype.itemsize)

    def __len__(self) -> int:
        return self._count

    @property
    def shape(self) -> tuple[int]:
        """As an array's."""
        return (self._count,)

    def __getitem__(self, at: slice) -> np.ndarray:
        start, stop, _ = at.indices(self._count)
        each = self._dtype.itemsize
        data = os.pread(self._handle, max(0, stop - start) * each, start * each)
        return np.frombuffer(data, self._dtype)


class IdsWriter:
    """Writes ids to a file.

    Args:
        file: open for writing; stays the caller's.
        dtype: of the numbers in the file.

    Raises:
        OSError: by `add` and `flush`: they cannot be written.
    """

    def __init__(self, file: IO[bytes], dtype: Any) -> None:
        self._file, self._dtype = file, dtype
        self._waiting: list[np.ndarray] = []
        self._count = 0

    def add(self, *ids: np.ndarray) -> None:
        """Ids that come next, each [N]; they may wait in memory."""
        self._waiting += ids
        self._count += sum(map(len, ids))
        if self._count >= TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting:
            whole = np.concatenate(self._waiting, dtype=self._dtype, casting="unsafe")
            self._file.write(whole.tobytes())
        self._waiting, self._count = [], 0
