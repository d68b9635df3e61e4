"""Memory that a step takes anew from the kernel, page by page. Standard library only.

glibc gives arrays of 32 MiB and more a mapping of their own whatever was freed before (mallopt(3),
M_MMAP_THRESHOLD: the dynamic threshold's upper limit), and unmaps them when they are freed: each
of their pages faults in every step. Smaller ones lie in the heap and are used again; what is free
at its end goes back to the kernel as far as it is more than twice the largest one that was freed
(M_TRIM_THRESHOLD), and faults too. What a compiled program takes is its engine's to tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from cputrain.experiment import Experiment
from cputrain.model import on_paper
from cputrain.model.shapes import alike, is_trained, n_params

LARGE = 32 << 20
"""Bytes from which an array has a mapping of its own."""
PAGE = 4096
LOGITS, HIDDEN = 4, 2
"""Arrays of that size in a training step: logits, their logarithms, both gradients; of each block
fc's output and what is activated, whose gradients mostly find room in the heap (6 counts on a Xeon:
1.5 to 3.8 arrays, 2 in the middle)."""
TABLES = 3
"""Arrays of a tied token table: the gradients of head and embedding, and their sum. 7.1 arrays of
51 MB faulted in a step with 4 of the logits; 3.2 of 82 MB where the logits were small."""
GIVEN_BACK = 0.5
"""Share of what smaller arrays have beyond what the heap keeps. Steps with logits of 31 MiB faulted
3 986 to 18 485 pages in eight cells of two runs, and have 16 400 to 23 800 beyond."""
SMALL = 0.5
"""Share of the smaller gradients' bytes that lie at the heap's end once they are freed."""
FORWARD = 2
"""Arrays of logits in a forward pass alone; of a block 1 is left."""


def pages(experiment: Experiment) -> int:
    """Pages that fault in one optimizer step.

    Args:
        experiment: settled.
    """
    return _bytes(experiment) // PAGE


def _bytes(experiment: Experiment) -> int:
    training = experiment.training
    match on_paper.of(experiment).allocates:
        case "arrays":
            weights, arrays = _gradients(experiment), _of_micro_batch(experiment)
            large = _summed_tables(experiment) + _large(arrays)
            small, gradients = _small(arrays), round(SMALL * _small(weights))
            kept = _kept(experiment, [size for _, size in (*weights, *arrays)])
            given_back = _given_back(small, kept)
            once = _given_back(small + gradients, kept) - given_back + _large(weights)
            return once + training.grad_accum * (large + given_back)
        case "programs":
            return on_paper.of(experiment).program_bytes(experiment)
    return 0


def _gradients(experiment: Experiment) -> list[tuple[int, int]]:
    """How many arrays of which bytes: one for each trained weight."""
    if experiment.training.objective == "forward":
        return []
    return [
        (count, 4 * math.prod(shape))
        for name, shape, count in alike(experiment)
        if is_trained(experiment, name)
    ]


def _summed_tables(experiment: Experiment) -> int:
    """Bytes that the gradients of a tied token table take more, where they are large."""
    model = experiment.model
    trains = experiment.training.objective != "forward" and is_trained(experiment, "wte")
    return (TABLES - 1) * _if_large(4 * model.vocab_size * model.n_embd) * (trains and model.tied)


def _of_micro_batch(experiment: Experiment) -> list[tuple[int, int]]:
    """How many arrays of which bytes: of logits, and of the blocks' hidden width."""
    model, training = experiment.model, experiment.training
    tokens = training.batch_size * training.seq_len
    forward = training.objective == "forward"
    heads = 2 if training.objective == "masked_node" else 1
    logits = heads * (FORWARD if forward else LOGITS), 4 * tokens * model.vocab_size
    hidden = (1 if forward else HIDDEN) * model.n_layer, 4 * tokens * model.hidden
    return [logits, hidden]


def _kept(experiment: Experiment, sizes: Sequence[int]) -> int:
    """Bytes free at the heap's end that stay there, where arrays of these sizes are freed.

    Before its first step a worker frees a block as large as its parameters (`worker.preparation`).
    """
    first = min(4 * n_params(experiment), LARGE)
    return 2 * max([first, *(size for size in sizes if size < LARGE)])


def _given_back(small: int, kept: int) -> int:
    """Bytes of so many in smaller arrays that fault in a step, of a heap that keeps `kept`."""
    return round(GIVEN_BACK * max(0, small - kept))


def _large(arrays: Sequence[tuple[int, int]]) -> int:
    return sum(count * _if_large(size) for count, size in arrays)


def _small(arrays: Sequence[tuple[int, int]]) -> int:
    return sum(count * size for count, size in arrays if size < LARGE)


def _if_large(size: int) -> int:
    return size if size >= LARGE else 0
