"""What IPEX makes of a model: linear layers whose weights lie in oneDNN's blocks.

A packed weight has four or five dimensions, some of them filled up with zeros. Gradients and
the optimizer's state have its layout, which an update element by element does not mind.
"""

from __future__ import annotations

from typing import Any

import intel_extension_for_pytorch as ipex
import intel_extension_for_pytorch._C as core
import numpy as np
import torch
from intel_extension_for_pytorch.cpu._auto_kernel_selection import _using_dnnl
from intel_extension_for_pytorch.nn.utils._weight_prepack import _IPEXLinear
from torch import nn

from cputrain.engines import EngineError
from cputrain.experiment import Experiment


def require(experiment: Experiment) -> None:
    """Raise EngineError for bf16 where IPEX's oneDNN has no bf16 products on this CPU."""
    if experiment.training.precision == "bf16" and not core.onednn_has_bf16_support():
        raise EngineError(
            "precision = 'bf16': IPEX needs AVX-512 (bw, dq, vl) or avx_ne_convert for it, and "
            f"its oneDNN has {core._get_current_onednn_isa_level()} here"
        )


def optimize(model: nn.Module, optimizer: Any, experiment: Experiment) -> None:
    """Hand a model in training mode and its optimizer to IPEX, which changes both in place.

    Without a dtype: weights keep the type that they have. What IPEX has for AdamW alone is the
    fused step of other optimizers, so that is not asked for.
    """
    ipex.optimize(
        model,
        optimizer=optimizer,
        dtype=None,
        inplace=True,
        weights_prepack=True,
        split_master_weight_for_bf16=False,
        fuse_update_step=False,
        auto_kernel_selection=experiment.runtime.auto_kernel_selection,
    )


def packed(model: nn.Module) -> dict[str, Any]:
    """The packed layers by the name of their weight."""
    modules = model.named_modules()
    return {f"{name}.weight": layer for name, layer in modules if isinstance(layer, _IPEXLinear)}


def unpacked(layer: Any, array: np.ndarray) -> np.ndarray:
    """A weight or gradient [out, in] from the layout of `layer`; as it is where that is None."""
    if layer is None:
        return array
    plain: np.ndarray = layer.ctx.to_public(torch.from_numpy(array)).contiguous().numpy()
    return plain


def repacked(layer: Any, array: np.ndarray) -> np.ndarray:
    """A weight [out, in] in the layout of `layer`; as it is where that is None."""
    if layer is None:
        return array
    blocks: np.ndarray = layer.ctx.pack(torch.from_numpy(array).clone()).numpy()
    return blocks


def readings() -> dict[str, Any]:
    """What IPEX says of itself: instruction sets, rounding of fp32 products, kernel selection."""
    return {
        "isa": core._get_current_isa_level(),
        "onednn_isa": core._get_current_onednn_isa_level(),
        "fp32_math_mode": ipex.get_fp32_math_mode().name,
        "auto_kernel_selection": _using_dnnl(),
    }
