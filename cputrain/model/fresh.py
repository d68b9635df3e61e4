"""Memory that a step takes anew from the kernel, page by page. Standard library only.

glibc gives arrays of 32 MiB and more a mapping of their own whatever was freed before (mallopt(3),
M_MMAP_THRESHOLD: the dynamic threshold's upper limit), and unmaps them when they are freed: each
of their pages faults in every step. Smaller ones lie in the heap and are used again; what is free
at its end goes back to the kernel as far as it is more than twice that (M_TRIM_THRESHOLD), and
faults too. XLA's arrays come and go in an order of its own, and a share of them does.
"""

from __future__ import annotations

import math

from cputrain.experiment import Experiment
from cputrain.model import on_paper
from cputrain.model.shapes import trained, weight_shapes

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
KEPT = 2 * LARGE
"""Bytes free at the heap's end that stay there."""
GIVEN_BACK = 0.5
"""Share of what smaller arrays have beyond that. Steps with logits of 31 MiB faulted 3 986 to
18 485 pages in eight cells of two runs, and have 16 400 to 23 800 beyond."""
SMALL = 0.5
"""Share of the smaller gradients' bytes that lie at the heap's end once they are freed."""
FORWARD = 2
"""Arrays of logits in a forward pass alone; of a block 1 is left."""
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
            sizes = [4 * math.prod(shapes[name]) for name in weights]
            table = _if_large(4 * math.prod(shapes["wte"])) if "wte" in weights else 0
            more = (TABLES - 1) * table if experiment.model.tied else 0
            arrays = _of_micro_batch(experiment)
            large = more + sum(count * _if_large(size) for count, size in arrays)
            small = sum(count * size for count, size in arrays if size < LARGE)
            gradients = round(SMALL * sum(size for size in sizes if size < LARGE))
            given_back = _given_back(small)
            once = _given_back(small + gradients) - given_back + sum(map(_if_large, sizes))
            return once + training.grad_accum * (large + given_back)
        case "programs":
            return training.grad_accum * _of_program(experiment)
    return 0


def _of_micro_batch(experiment: Experiment) -> list[tuple[int, int]]:
    """How many arrays of which bytes: of logits, and of the blocks' hidden width."""
    model, training = experiment.model, experiment.training
    tokens = training.batch_size * training.seq_len
    forward = training.objective == "forward"
    heads = 2 if training.objective == "masked_node" else 1
    logits = heads * (FORWARD if forward else LOGITS), 4 * tokens * model.vocab_size
    hidden = (1 if forward else HIDDEN) * model.n_layer, 4 * tokens * model.hidden
    return [logits, hidden]


def _of_program(experiment: Experiment) -> int:
    """Bytes of a micro-batch's arrays, and of the gradients, that a program asks for anew."""
    model, training = experiment.model, experiment.training
    tokens = training.batch_size * training.seq_len
    share = FORWARD / LOGITS if training.objective == "forward" else 1
    window = model.window or training.seq_len
    pairs = 4 * training.batch_size * model.n_head * training.seq_len * window
    arrays = [(SCORES * model.n_layer, pairs), (4 * model.n_layer, 4 * tokens * model.hidden)]
    arrays.append((LOGITS, 4 * tokens * model.vocab_size))
    gradients = weight_shapes(experiment) if training.objective != "forward" else {}
    sizes = [4 * math.prod(shape) for shape in gradients.values()]
    again = sum(share * count * _of_program_s(size) for count, size in arrays)
    return int(again + sum(map(_of_program_s, sizes)))


def _of_program_s(size: int) -> float:
    """Bytes of a program's array that fault in a step."""
    if size <= SMALLEST:
        return 0.0
    return size * min(1.0, math.log(size / SMALLEST) / math.log(LARGE / SMALLEST))


def _given_back(small: int) -> int:
    """Bytes of so many in smaller arrays that fault in a step."""
    return round(GIVEN_BACK * max(0, small - KEPT))


def _if_large(size: int) -> int:
    return size if size >= LARGE else 0
