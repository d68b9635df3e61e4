"""The instructions that torch and the libraries inside it use, as they say themselves."""

from __future__ import annotations

import ctypes
import functools
import re
from pathlib import Path

import torch

from cputrain.engines import verbose
from cputrain.knobs import instruction_sets

HEADER = re.compile(r"onednn_verbose,.*\bcpu,isa:(.*)")


def readings() -> dict[str, str | None]:
    """By library: `aten` (torch's own loops), `onednn`, `mkl` with its `mkl_mode`.

    Libraries that this torch was built without are left out; None is one that does not say.
    """
    found: dict[str, str | None] = {"aten": torch.backends.cpu.get_cpu_capability()}
    if torch.backends.mkldnn.is_available():
        found["onednn"] = onednn()
    if torch.backends.mkl.is_available():
        inside = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
        found |= instruction_sets.mkl(ctypes.CDLL(str(inside)))
    return found


@functools.cache
def onednn() -> str | None:
    """Of oneDNN's header, such as "Intel AVX2"; None where it prints none.

    It prints the header once in a process, before the first call that it tells of. So this has
    to be asked before anything else makes it print.
    """
    with verbose.captured() as lines, torch.backends.mkldnn.verbose(1):
        torch.ones(16).to_mkldnn()
    told = (HEADER.match(line) for line in lines)
    return next((match[1] for match in told if match), None)
