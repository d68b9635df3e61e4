"""What MKL and oneDNN print of the matrix products that they execute, read back.

Both can be told to print a line for every call, to the process's standard output. It makes
them slower, so it is on for one step outside the clock and off again.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

PRODUCTS = {
    "mkl": re.compile(r"MKL_VERBOSE S?GEM[MV]\("),
    "onednn": re.compile(r"onednn_verbose,(?:[^,]*,)*?exec,cpu,(inner_product|matmul|gemm_api),"),
}
"""By library: how a line starts that tells of one fp32 product. MKL's products of many small
matrices at once (SGEMM_BATCH) have another name."""


@contextmanager
def captured() -> Iterator[list[str]]:
    """The lines that this process writes to its standard output, also from C; there at the end."""
    lines: list[str] = []
    libc = ctypes.CDLL(None)
    sys.stdout.flush()
    libc.fflush(None)
    kept = os.dup(1)
    try:
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 1)
            try:
                yield lines
            finally:
                libc.fflush(None)
                os.dup2(kept, 1)
                file.seek(0)
                lines += file.read().decode(errors="replace").splitlines()
    finally:
        os.close(kept)


def by_library(lines: Iterable[str]) -> dict[str, int]:
    """How many matrix products of each library `lines` tell of."""
    lines = list(lines)
    return {
        name: sum(pattern.match(line) is not None for line in lines)
        for name, pattern in PRODUCTS.items()
    }
