"""Memory that a step takes anew from the kernel, page by page. Standard library only.

glibc gives arrays of 32 MiB and more a mapping of their own whatever was freed before (mallopt(3),
M_MMAP_THRESHOLD: the dynamic threshold's upper limit), and unmaps them when they are freed: each
of their pages faults in every step. Smaller ones are used again, as long as they do not lie at the
heap's end: free memory there is given back once it is twice as large as the largest of them
(M_TRIM_THRESHOLD). XLA's arrays come and go in an order of its own, and a share of them does.
"""

from __future__ import annotations

import math

from cputrain.experiment import Experiment
from cputrain.model import on_paper
from cputrain.model.shapes import trained, weight_shapes

LARGE = 32 << 20
"""Bytes from which an array has a mapping of its own."""
PAGE = 4096
LOGITS, HIDDEN = 4, 4
"""Arrays of that size in a training step: logits, their logarithms, both gradients; of each block
fc's output, what is activated, both gradients. As many pages were counted."""
FORWARD = 2
"""Arrays of either in a forward pass alone."""
SCORES = 9
"""Arrays of (query, key) pairs of a block in a step that keeps them, where a program allocates:
900 MB faulted in a step of two blocks with 50 MB of pairs each."""
SMALLEST = 4e6
"""Bytes from which a program's arrays are given back at times, the more the larger: by the faults
of 18 programs on one machine, up to LARGE like the logarithm of the size: within a factor of two
where there are many, but for a batch of 8 (2.9 times too many)."""


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
            weights = trained(experiment) if training.objective != "forward" else ()
            shapes = weight_shapes(experiment)
            gradients = sum(_if_large(4 * math.prod(shapes[name])) for name in weights)
            return gradients + training.grad_accum * _of_micro_batch(experiment)
        case "programs":
            return training.grad_accum * _of_program(experiment)
    return 0


def _of_micro_batch(experiment: Experiment) -> int:
    model, training = experiment.model, experiment.training
    tokens = training.batch_size * training.seq_len
    forward = training.objective == "forward"
    heads = 2 if training.objective == "masked_node" else 1
    logits = heads * (FORWARD if forward else LOGITS) * _if_large(4 * tokens * model.vocab_size)
    hidden = (FORWARD if forward else HIDDEN) * _if_large(4 * tokens * model.hidden)
    return logits + model.n_layer * hidden


def _of_program(experiment: Experiment) -> int:
    """Bytes of a micro-batch's arrays, and of the gradients, that a program asks for anew."""
    model, training = experiment.model, experiment.training
    tokens = training.batch_size * training.seq_len
    share = FORWARD / LOGITS if training.objective == "forward" else 1
    pairs = 4 * training.batch_size * model.n_head * training.seq_len**2
    arrays = [(SCORES * model.n_layer, pairs), (HIDDEN * model.n_layer, 4 * tokens * model.hidden)]
    arrays.append((LOGITS, 4 * tokens * model.vocab_size))
    gradients = weight_shapes(experiment) if training.objective != "forward" else {}
    sizes = [4 * math.prod(shape) for shape in gradients.values()]
    again = sum(share * count * _given_back(size) for count, size in arrays)
    return int(again + sum(map(_given_back, sizes)))


def _given_back(size: int) -> float:
    """Bytes of a program's array that fault in a step."""
    if size <= SMALLEST:
        return 0.0
    return size * min(1.0, math.log(size / SMALLEST) / math.log(LARGE / SMALLEST))


def _if_large(size: int) -> int:
    return size if size >= LARGE else 0
