"""Memory that a step takes anew from the kernel, page by page. Standard library only.

glibc gives arrays of 32 MiB and more a mapping of their own whatever was freed before (mallopt(3),
M_MMAP_THRESHOLD: the dynamic threshold's upper limit), and unmaps them when they are freed: each
of their pages faults in every step. Smaller ones are used again.
"""

from __future__ import annotations

import math

from cputrain.experiment import Experiment
from cputrain.model import memory_estimate, on_paper
from cputrain.model.shapes import trained, weight_shapes

LARGE = 32 << 20
"""Bytes from which an array has a mapping of its own."""
PAGE = 4096
LOGITS, HIDDEN = 4, 4
"""Arrays of that size in a training step: logits, their logarithms, both gradients; of each block
fc's output, what is activated, both gradients. As many pages were counted."""
FORWARD = 2
"""Arrays of either in a forward pass alone."""


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
            held = memory_estimate.memory_bytes(experiment).activations
            return training.grad_accum * _if_large(held)
    return 0


def _of_micro_batch(experiment: Experiment) -> int:
    model, training = experiment.model, experiment.training
    tokens = training.batch_size * training.seq_len
    forward = training.objective == "forward"
    heads = 2 if training.objective == "masked_node" else 1
    logits = heads * (FORWARD if forward else LOGITS) * _if_large(4 * tokens * model.vocab_size)
    hidden = (FORWARD if forward else HIDDEN) * _if_large(4 * tokens * model.hidden)
    return logits + model.n_layer * hidden


def _if_large(size: int) -> int:
    return size if size >= LARGE else 0
