"""Parameters of any precision as float32 arrays."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from cputrain.model.bf16 import excused as excused
from cputrain.model.bf16 import may_not_move as may_not_move


def plain(tensor: Tensor) -> Tensor:
    """The tensor that holds the numbers: torchao puts a class of its own around it."""
    while is_traceable_wrapper_subclass(tensor):
        tensor = getattr(tensor, tensor.__tensor_flatten__()[0][0])
    return tensor.detach()


def to_numpy(tensor: Tensor) -> np.ndarray:
    """A float32 copy of a parameter or gradient."""
    array: np.ndarray = plain(tensor).to(torch.float32, copy=True).numpy()
    return array


def load(parameter: Tensor, array: np.ndarray) -> None:
    """Put float32 values in place, rounded to nearest where the parameter is bf16."""
    with torch.no_grad():
        plain(parameter).copy_(torch.from_numpy(array))
