"""What torch and the libraries below it report of themselves."""

from __future__ import annotations

import ctypes
import functools
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cputrain.engines import verbose
from cputrain.engines.torch_ import precision
from cputrain.knobs.instruction_sets import mkl

HEADER = re.compile(r"onednn_verbose,.*\bcpu,isa:(.*)")


def versions() -> dict[str, str]:
    """torch and NumPy; torchao only where something has imported it."""
    torchao = sys.modules.get("torchao")
    by_library = {"torch": torch.__version__, "numpy": np.__version__}
    return by_library | ({"torchao": torchao.__version__} if torchao else {})


def readings() -> dict[str, Any]:
    """Threads, instruction sets and libraries."""
    return {
        "intra_op_threads": torch.get_num_threads(),
        "inter_op_threads": torch.get_num_interop_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "instruction_sets": instruction_sets(),
        "mkl": torch.backends.mkl.is_available(),
        "mkldnn": torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled,
        "openmp": torch.backends.openmp.is_available(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "blas": blas(),
        "parallel_info": torch.__config__.parallel_info(),
        **precision.readings(),
    }


def blas() -> dict[str, Any]:
    """The library that torch was built to multiply with: its name and threads, None if not told."""
    built = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    threads = re.search(r"mkl_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info())
    return {"name": built and built[1], "threads": threads and int(threads[1])}


def instruction_sets() -> dict[str, str | None]:
    """By library: `aten` (torch's own loops), `onednn`, `mkl` with its `mkl_mode`.

    Libraries that this torch was built without are left out; None is one that does not say.
    """
    names: dict[str, str | None] = {"aten": torch.backends.cpu.get_cpu_capability()}
    if torch.backends.mkldnn.is_available():
        names["onednn"] = onednn()
    if torch.backends.mkl.is_available():
        inside = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
        names |= mkl(ctypes.CDLL(str(inside)))
    return names


@functools.cache
def onednn() -> str | None:
    """Of oneDNN's header, such as "Intel AVX2"; None where it prints none.

    It prints the header once in a process, before the first call that it tells of. So this has
    to be asked before anything else makes it print.
    """
    with verbose.captured() as lines, torch.backends.mkldnn.verbose(1):
        torch.ones(16).to_mkldnn()
    headers = (HEADER.match(line) for line in lines)
    return next((match[1] for match in headers if match), None)
