"""What products with weights cost beside their operations, by their shapes. Standard library only.

A product [m, k] by [k, n] has 2 m k n operations, F, and m k + k n + m n numbers to move.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from cputrain.experiment import Experiment
from cputrain.model import on_paper
from cputrain.model.flops import shares
from cputrain.model.products import runs

NARROW = 64
"""Two dimensions of a product at which `narrow` is as large as its operations."""
NEAR = 1 << 20
"""Bytes of a product's arrays that stay in a core's own cache, of 0.5 to 2 MiB on today's CPUs."""
DOUBLING = 0.1
"""Share of a product's operations that `far` counts for each doubling beyond NEAR."""
FLOAT = 4
"""Bytes of a float32."""


class _Product(NamedTuple):
    """A layer's product in a micro-batch, one of three: forward, by input, by weight.

    Attributes:
        flops: of its runs, times what threads wait for each other.
        sizes: m, n, k.
    """

    flops: float
    sizes: tuple[int, int, int]


def products(experiment: Experiment, threads: int) -> float:
    """Operations of a step's products, each times what threads wait for each other in it.

    Args:
        experiment: settled.
        threads: that compute.
    """
    work = math.fsum(flops for flops, _ in _products(experiment, threads))
    return work * experiment.training.grad_accum


def narrow(experiment: Experiment, threads: int) -> float:
    """The same, each times (1/m + 1/k + 1/n) NARROW / 2.

    That is the numbers moved for an operation, so what a product waits for beside computing.
    """
    thin = (
        flops * NARROW / 2 * math.fsum(1 / size for size in sizes)
        for flops, sizes in _products(experiment, threads)
    )
    return math.fsum(thin) * experiment.training.grad_accum


def far(experiment: Experiment, threads: int) -> float:
    """The same, each times DOUBLING log2(bytes of its arrays / NEAR).

    None where they fit. Measured as parts of a step (Xeon, 2 MiB of L2 a core), our own C computed
    177 GFLOP/s in products of 2 to 3 MB, 162 in those of 8 to 20 MB.
    """
    large = (
        flops * DOUBLING * max(0.0, math.log2(FLOAT * (m * k + k * n + m * n) / NEAR))
        for flops, (m, n, k) in _products(experiment, threads)
    )
    return math.fsum(large) * experiment.training.grad_accum


def _products(experiment: Experiment, threads: int) -> Iterator[_Product]:
    """Of one micro-batch; biases and norms multiply nothing."""
    training = experiment.training
    tokens, engine = training.batch_size * training.seq_len, on_paper.of(experiment)
    for (name, shape, count), share in shares(experiment):
        if len(shape) == 2:
            out, width = shape
            flops = 2 * share * out * width * tokens
            sizes = (tokens, out, width), (tokens, width, out), (out, width, tokens)
            for size, times in zip(sizes, runs(experiment, name), strict=True):
                if times:
                    work = flops * times * engine.uneven(*size, threads)
                    yield from itertools.repeat(_Product(work, size), count)
