"""Intel's extension of PyTorch: the torch engine, its model and optimizer handed to IPEX."""

import os

# IPEX imports inductor, which where there is Triton, as with every CUDA build of torch, starts
# processes to compile in: seconds of CPU time beside the first steps, for nothing.
os.environ["TORCH_WARM_POOL"] = "0"

from cputrain.engines.ipex_.engine import build as build
