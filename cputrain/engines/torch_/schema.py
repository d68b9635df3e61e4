"""What torch shows of a step, as checks read it and records keep it. Standard library and msgspec.

It is made in `TorchEngine.evidence`.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from msgspec import UNSET, Struct, UnsetType

from cputrain.record.evidence import Evidence
from cputrain.record.part import Count, Number, Part
from cputrain.record.proof import Check

OptimizerKernel = Literal["fused", "foreach", "default", "several"]
"""Of runtime.optimizer_kernel, those that torch has; or not the same for every tensor."""


class PrecisionCheck(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A check of the precision. In JSON it is a row without names.

    Attributes:
        name, expected, actual, ok: see `Check`.
    """

    name: str
    expected: Any
    actual: Any
    ok: bool

    def as_check(self) -> Check:
        """The same among the checks of what is in force."""
        return Check(self.name, self.expected, self.actual, self.ok)


class CacheUse(Part, frozen=True, kw_only=True):
    """Graphs that were found in each cache of compiled code, missed there, or cannot be kept."""

    fxgraph_hits: Count
    fxgraph_misses: Count
    fxgraph_bypasses: Count
    autograd_hits: Count
    autograd_misses: Count
    autograd_bypasses: Count


class Compiled(TypedDict, total=False):
    """What a compiler did, by the attributes of `TorchEvidence`; some are inductor's alone."""

    graphs: int
    graph_breaks: int
    recompiles: int
    backend_called: bool
    inductor_kernels: int
    inductor_loops: int
    fused: bool | None
    cache_hits: int
    cache: CacheUse


MASK = "aten::bernoulli_"
"""Draws a mask of dropout; its second input is the share that stays."""


ACTIVATION = "cputrain activation: "
"""Of an activation in a profile: its region, and before the names of the operators it calls."""


class Given(TypedDict, total=False):
    """What operators were given, by the attributes of `TorchEvidence`."""

    logit_rows: int
    queries: int
    heads: list[list[int]]
    batched: list[int]
    dropped: list[float]


class OptimizerState(Part, frozen=True, kw_only=True):
    """The optimizer after the last step.

    Attributes:
        name: of the optimizer whose step was profiled.
        learning_rate, betas, eps, weight_decay, kernel: as each of its groups has them; empty
            where it has no such setting.
        tensors: that its groups have; once: trained ones that stand there once.
        updates: that the engine has made.
        steered_rate: the learning rate that the last update was told to take, where a long run
            has a schedule of its own.
        state_bytes: see `optimizers.state_bytes`; None where a tensor has no state yet.
    """

    name: str | None
    learning_rate: list[Number]
    betas: list[list[Number]]
    eps: list[Number]
    weight_decay: list[Number]
    kernel: list[str]
    tensors: Count
    once: Count
    updates: Count
    steered_rate: Number | None
    state_bytes: Count | None


class TorchEvidence(Evidence, frozen=True, kw_only=True):
    """One forward and backward pass, and the optimizer's step on one tensor.

    What a compiler did counts since the model was built. It is None in an eager step, and what
    inductor alone shows also in one of another backend.

    Attributes:
        optimizer_kernel: the one that ran; None without an optimizer.
        checkpointed: whether the blocks were computed again in the backward pass.
        precision: what shows that the precision is in force (`in_precision.look`).
        moe_load: share of the tokens that each expert had, by block; None without experts.
        layer_products_by_library: products of each linear layer run by itself; None where no
            library is asked for, as `products_by_library`.
        logit_rows: the most rows of logits that existed at a time; queries: the most that a call of
            attention had for a head of a sequence or window. None in a compiled step, but for
            queries where an operator of attention ran; so is `dropped`.
        heads: heads of queries, and of keys, that calls of the fused kernel had, each pair once.
        batched: how many products those that are batched had at a time, each number once.
        product_flops: operations of the matrix products of a micro-batch (`product_work`).
        block_runs: how often the forward pass of a block ran, each number once; None where the
            model is compiled.
        optimizer: what it says of itself; None without one.
        graphs: first compilations of a piece of code; recompiles: all later ones.
        graph_breaks: pieces that the compiler left to Python.
        backend_called: whether a graph of this backend ran both ways, forward and backward.
        inductor_kernels: 0 unless inductor's own generated code ran.
        inductor_loops: outermost loops in that code.
        fused: whether inductor put operations together; None where all code came from a cache,
            so that nothing was decided here; UNSET without inductor.
        cache_hits: graphs whose code came from a cache; cache: how each cache was used.
    """

    optimizer_kernel: OptimizerKernel | None
    checkpointed: bool
    precision: list[PrecisionCheck]
    moe_load: list[list[Number]] | None = None
    layer_products_by_library: dict[str, Count] | None = None
    logit_rows: Count | None = None
    queries: Count | None = None
    heads: list[list[Count]] | None = None
    batched: list[Count] | None = None
    product_flops: Count | None = None
    block_runs: list[Count] | None = None
    optimizer: OptimizerState | None = None
    graphs: Count | None = None
    graph_breaks: Count | None = None
    recompiles: Count | None = None
    backend_called: bool | None = None
    inductor_kernels: Count | None = None
    inductor_loops: Count | None = None
    fused: bool | UnsetType | None = UNSET
    cache_hits: Count | None = None
    cache: CacheUse | None = None
