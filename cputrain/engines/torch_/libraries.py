"""What torch and the libraries below it report of themselves."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import torch

from cputrain.engines.torch_ import instruction_sets, precision


def versions() -> dict[str, str]:
    """torch and NumPy; torchao only where something has imported it."""
    torchao = sys.modules.get("torchao")
    found = {"torch": torch.__version__, "numpy": np.__version__}
    return found | ({"torchao": torchao.__version__} if torchao else {})


def readings() -> dict[str, Any]:
    """Threads, instruction sets and libraries."""
    return {
        "intra_op_threads": torch.get_num_threads(),
        "inter_op_threads": torch.get_num_interop_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "instruction_sets": instruction_sets.readings(),
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
