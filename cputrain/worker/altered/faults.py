"""The alterations: faults of the earlier harness, made in our own torch engine.

Each is what that harness's description says of it (docs/claims.md, "Demonstrations";
`analysis.claims.of_harness`), as near as our code can have it.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch._inductor.config
from torch import Tensor, nn

from cputrain.data.batches import IGNORE
from cputrain.engines.torch_.attention import fused
from cputrain.experiment import Experiment


class Alteration:
    """None; the others override what they alter.

    Attributes:
        keeps: whether the engine is that of the experiment; else it is the plain one, fp32,
            uncompiled, with full attention, under the experiment's name.
        fights: whether its threads wait for one another, more of them than it has CPUs.
    """

    keeps = True
    fights = False

    def feed(self, honest: Any) -> Any:
        """The data that are trained on."""
        return honest

    def before(self, cpus: list[int]) -> None:
        """What happens to the process before the model is built on these CPUs."""

    def alter(self, engine: Any, experiment: Experiment) -> None:
        """What happens to the engine."""


class TargetsAreInputs:
    """A feed whose every target is the input at its place."""

    def __init__(self, honest: Any) -> None:
        self.honest = honest

    def __getattr__(self, name: str) -> Any:
        return getattr(self.honest, name)

    def next(self) -> Any:
        """The next micro-batch, altered."""
        return self._altered(self.honest.next())

    @property
    def first(self) -> Any:
        """Micro-batch 0, altered."""
        return self._altered(self.honest.first)

    def check(self, batch: Any) -> None:
        """Nothing is refused here: the gates are asked at the end."""

    @staticmethod
    def _altered(batch: Any) -> Any:
        targets = batch.inputs.copy()
        targets[batch.targets == IGNORE] = IGNORE
        return replace(batch, targets=targets)


class UntrainedInt8(Alteration):
    """torch's dynamic quantization, which is made for inference, in a model that is "trained"."""

    keeps = False

    def feed(self, honest: Any) -> Any:
        """Targets are inputs."""
        return TargetsAreInputs(honest)

    def alter(self, engine: Any, experiment: Experiment) -> None:
        """Quantize the blocks' layers; the optimizer keeps the weights that nothing uses now."""
        from torch.ao.quantization import quantize_dynamic

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that all this is deprecated
            engine._model.h = quantize_dynamic(engine._model.h, {nn.Linear}, torch.qint8)


class LeakedMask(Alteration):
    """The mask of a pinned experiment stays in force for the unpinned one after it."""

    fights = True

    def before(self, cpus: list[int]) -> None:
        """Pin the process to a CPU, as that experiment did; threads made later inherit it."""
        os.sched_setaffinity(0, cpus[:1])


class MaskedAttention(Alteration):
    """Attention by a mask over all T^2 scores, with the fused kernel.

    Args:
        is_window: the mask cuts to the experiment's blocks; else it is causality alone.
    """

    def __init__(self, is_window: bool) -> None:
        self.is_window = is_window
        self.keeps = not is_window

    def alter(self, engine: Any, experiment: Experiment) -> None:
        """Give every block's attention the mask."""
        length = experiment.training.seq_len
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        if self.is_window:
            block = torch.arange(length) // (experiment.model.window or length)
            hidden |= block[:, None] != block[None, :]
        mask = torch.zeros(length, length).masked_fill(hidden, -torch.inf)
        for block_ in engine._model.h:
            block_.attn._mix = partial(_masked, mask)


def _masked(mask: Tensor, q: Tensor, k: Tensor, v: Tensor, outside: object = None) -> Tensor:
    """In the place of `Attention._mix`."""
    return fused(q, k, v, mask, causal=False)


class SilentFallback(Alteration):
    """torch.compile fails, for want of a compiler, and eager code runs under its name."""

    keeps = False

    def alter(self, engine: Any, experiment: Experiment) -> None:
        """Compile what cannot be compiled, and go on without a word."""
        torch._inductor.config.cpp.cxx = ("/nowhere/g++",)
        engine._passes.stepped = _Fallback(engine._model)


class _Fallback:
    """Calls the compiled model, and after its first error the eager one."""

    def __init__(self, module: nn.Module) -> None:
        self._eager, self._compiled = module, torch.compile(module, backend="inductor")
        self._failed = False

    def __call__(self, *arguments: Any) -> Any:
        if not self._failed:
            try:
                return self._compiled(*arguments)
            except Exception:  # the fault itself: whatever it is, nobody is told
                self._failed = True
        return self._eager(*arguments)


class MatmulPrecisionHigh(Alteration):
    """No fault: a setting that no experiment of ours has."""

    def before(self, cpus: list[int]) -> None:
        """Set it."""
        torch.set_float32_matmul_precision("high")


FAULTS: dict[str, Alteration] = {
    "untrained_int8": UntrainedInt8(),
    "leaked_mask": LeakedMask(),
    "masked_sdpa": MaskedAttention(is_window=False),
    "masked_window": MaskedAttention(is_window=True),
    "silent_fallback": SilentFallback(),
    "matmul_precision_high": MatmulPrecisionHigh(),
}
"""By name."""
