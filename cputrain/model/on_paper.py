"""What operations and bytes of a step depend on beside the model: how an engine works.

An engine's spec is one of these and is made known here when it is loaded (`engines.specs`): this
room knows no engine by itself. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from cputrain.experiment import Experiment


class OnPaper:
    """How an engine works, as far as operations and bytes are counted.

    Attributes:
        framework_bytes: resident bytes of a worker with its imports, data and profiler.
        compiler_bytes: resident bytes more, by runtime.compile.
        fuses_attention: whether sdpa is one kernel for all of attention, which skips keys by whole
            blocks, keeps no pairs, and computes the scores again in the backward pass.
        kept_per_pair: numbers that attention keeps of a (query, key) pair otherwise.
        used_per_pair: numbers of a pair that are in use at the peak beside those.
        turns_factors: whether bf16 factors that are turned before a product become fp32.
        adds_in_products: whether a layer's product adds to the residual stream by itself.
        updates_at_once: whether the update is handed out as a whole, not tensor by tensor.
        packs_together: whether the threads pack a product's factor together, each a part of it, and
            all of them read all of it.
        adding_gradients: numbers read and written to add a gradient to that of the micro-batches
            before: 3 by an operation of its own, 1 by the product that it is the result of.
        has_buffers: whether masks and tables of positions are kept as arrays.
        again_passes: what handing out the work of a block that is computed again takes, in passes.
        handing_out: what handing out a pass of a block is expected to take, over what it takes
            torch, before anything is measured.
        allocates: what it asks the allocator for in every step: each array by itself, the memory
            of a whole program at once, or nothing.
    """

    framework_bytes: ClassVar[int]
    compiler_bytes: ClassVar[Mapping[str, int]] = {}
    fuses_attention: ClassVar[bool] = False
    kept_per_pair: ClassVar[int] = 1
    used_per_pair: ClassVar[int] = 2
    turns_factors: ClassVar[bool] = False
    adds_in_products: ClassVar[bool] = False
    updates_at_once: ClassVar[bool] = False
    packs_together: ClassVar[bool] = False
    adding_gradients: ClassVar[int] = 3
    has_buffers: ClassVar[bool] = True
    again_passes: ClassVar[int] = 1
    handing_out: ClassVar[float] = 1.0
    allocates: ClassVar[Literal["arrays", "programs", "nothing"]] = "arrays"

    def pairs(self, length: int) -> int | None:
        """(query, key) pairs that a head computes of `length` tokens; None: as the others do."""

    def activation_bytes(self, experiment: Experiment) -> int | None:
        """What the backward pass needs and what is in use; None: as frameworks keep it."""

    def program_bytes(self, experiment: Experiment) -> int:
        """What a step's program takes anew; asked of engines that allocate programs."""
        return 0

    def uneven(self, m: int, n: int, k: int, threads: int) -> float:
        """Time of a product [m, k] by [k, n] over what it were with threads all as busy."""
        return 1.0

    def leaves_out(self, experiment: Experiment, name: str) -> bool:
        """Whether recomputing a block stops before this weight: nothing after it is needed."""
        return False


_known: dict[str, OnPaper] = {}


def register(name: str, engine: OnPaper) -> None:
    """Make an engine known by its name."""
    _known[name] = engine


def of(experiment: Experiment) -> OnPaper:
    """How the experiment's engine works.

    Raises:
        ValueError: nobody loaded its spec: the experiment is not settled.
    """
    name = experiment.runtime.engine
    if name not in _known:
        raise ValueError(f"engine = {name!r}: not known yet; the experiment is not settled")
    return _known[name]
