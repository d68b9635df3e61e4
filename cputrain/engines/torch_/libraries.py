"""What torch and the libraries below it report of themselves."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

from cputrain.engines.torch_ import precision


def versions() -> dict[str, str]:
    """torch and NumPy; torchao only where something has imported it."""
    torchao = sys.modules.get("torchao")
    found = {"torch": torch.__version__, "numpy": np.__version__}
    return found | ({"torchao": torchao.__version__} if torchao else {})


def readings() -> dict[str, Any]:
    """Threads, instruction set and libraries."""
    return {
        "intra_op_threads": torch.get_num_threads(),
        "inter_op_threads": torch.get_num_interop_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "mkl": torch.backends.mkl.is_available(),
        "mkldnn": torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled,
        "openmp": torch.backends.openmp.is_available(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "parallel_info": torch.__config__.parallel_info(),
        **precision.readings(),
    }
