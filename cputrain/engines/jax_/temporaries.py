"""The temporary numbers of a step's program: how many, and what of them is new memory each time.

Standard library only. XLA asks the allocator for them when a step starts and frees them when it
ends, in blocks (`options.BLOCKS`) or, where an array fits into none, all in one, which glibc maps
anew for every step: its pages faulted to within 8 % of what XLA says that the program needs, in
four of five (jax 0.10.2; the fifth has a weight of 98 MB, and half as many again). Of blocks of
8 MB next to none did, in programs of up to 163 MB. Of larger blocks none of programs of up to
70 MB, and 7 to 106 % of five of 109 to 326 MB, by the layout of the process's heaps.
"""

from __future__ import annotations

from cputrain.engines.jax_ import options
from cputrain.experiment import Experiment
from cputrain.model.memory_estimate import FLOAT, memory_bytes
from cputrain.model.shapes import n_trained

HEAP = 64 << 20
"""Bytes of one of glibc's heaps for a thread (HEAP_MAX_SIZE on 64-bit machines)."""
GIVEN_BACK = 0.5
"""Share of what larger blocks have beyond it."""


def again(experiment: Experiment) -> int:
    """Bytes that are new memory in each step.

    Args:
        experiment: settled.
    """
    needed, block = needs(experiment), options.block(experiment)
    if block is None:
        return needed
    return 0 if block == options.BLOCKS[0] else round(GIVEN_BACK * max(0, needed - HEAP))


def needs(experiment: Experiment) -> int:
    """Bytes of all temporary numbers: what the backward pass needs, or else all gradients.

    XLA has two arrays of logits at a time, where frameworks have three. Within 8 % of what it
    reports where it takes no blocks; in blocks between 25 % less and, of small programs, 57 % more.
    """
    training = experiment.training
    tokens = training.batch_size * training.seq_len
    logits = FLOAT * tokens * experiment.model.vocab_size
    activations = memory_bytes(experiment).activations - logits
    return max(activations, FLOAT * n_trained(experiment))
