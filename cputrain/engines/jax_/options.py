"""XLA's settings for the programs of this engine: they change order and memory, not the work."""

from __future__ import annotations

import math

from cputrain.experiment import Experiment
from cputrain.model.attention_kept import pair_numbers
from cputrain.model.shapes import weight_shapes

BARRIERS = "cse_barrier_expander"
"""The pass that drops barriers, which XLA runs on a CPU before it settles the order of work.

Then it computes at once what jax.checkpoint has put off, and keeps it: nothing is saved.
"""
BLOCKS = (8_000_000, 16_000_000, 24_000_000, 32_000_000)
"""Bytes that a block of temporary numbers may have: the least that every array fits into.

glibc keeps what is given back in blocks of up to 32 MiB for the next step; larger ones it returns
to the kernel, which clears new ones page by page. So it does with the whole of a thread's heap,
which has 64 MiB and so only one or two of the largest blocks: with 32 MB for the default experiment
four of 40 steps faulted 30 MB anew in the median process, and 30 in one of 16; with 8 MB none in 6
of 8 (docs/figures/places.md).
"""


def options(experiment: Experiment) -> dict[str, bool | int | str]:
    """As `jax.stages.Lowered.compile` takes them.

    Barriers stay; no weights are copied that the step reads for the last time before it writes
    them; temporary numbers lie in blocks. There are none where one array alone is larger than any:
    XLA would give each such a block to itself (tried: twice the memory). Nor where a first step
    is timed: XLA cannot write the program to its cache ("Multiple temp buffer allocations").
    Without fusion its pass is named here too, as these settings overrule XLA_FLAGS.
    """
    runtime = experiment.runtime
    settings: dict[str, bool | int | str] = {
        "xla_disable_hlo_passes": BARRIERS if runtime.fusion else f"fusion,{BARRIERS}",
        "xla_cpu_copy_insertion_use_region_analysis": True,
    }
    size = block(experiment)
    if size is not None:
        settings["xla_multiheap_size_constraint_per_heap"] = size
    return settings


def block(experiment: Experiment) -> int | None:
    """Bytes that a block of temporary numbers may have; None where they lie in one."""
    if experiment.runtime.jit_state != "steady":
        return None
    return next((size for size in BLOCKS if size >= largest(experiment)), None)


def largest(experiment: Experiment) -> int:
    """Bytes of the largest array of a step, as float32: scores, logits, a layer's or a weight."""
    shapes, training = weight_shapes(experiment), experiment.training
    rows = max(shape[0] for name, shape in shapes.items() if name != "wpe")
    tokens = training.batch_size * training.seq_len
    weight = max(math.prod(shape) for shape in shapes.values())
    return 4 * max(pair_numbers(experiment), tokens * rows, weight)
