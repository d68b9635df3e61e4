"""Which library multiplies in the blocks' linear layers of torch: MKL or oneDNN.

The head and attention stay in the library that torch was built with. In force by what the
libraries themselves print of one step outside the clock (`engines.multiplied`).
"""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from cputrain.knobs.knob import Knob
from cputrain.knobs.matmul import why_no_mkl

if TYPE_CHECKING:
    from cputrain.experiment import Experiment

PRIVATE = "torch.ops.mkldnn._linear_pointwise"
"""torch's way to oneDNN; its description is in MENTIONED."""
MENTIONED = "_meta_registrations.py"


class TorchMatmul(Knob):
    """Both libraries are inside torch: nothing is loaded for it."""

    def why_not(self, experiment: Experiment) -> str | None:
        """MKL is not for this machine, or torch has no way to oneDNN."""
        backend = experiment.runtime.matmul_backend
        return why_no_onednn() if backend == "onednn" else why_no_mkl(backend)


@functools.cache
def why_no_onednn() -> str | None:
    """Why this interpreter's torch has no way to oneDNN; None where it has, or there is no torch.

    torch is not imported for it: the worker does that, and finds out for sure.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None  # asv's environment is going to have one
    file = Path(spec.origin).with_name(MENTIONED)
    name = PRIVATE.removeprefix("torch.ops.")
    if file.exists() and name in file.read_text():
        return None
    return f"this torch does not have {PRIVATE}, which trains through oneDNN in fp32"
