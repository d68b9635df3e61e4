"""What products with weights cost beside their operations, by their shapes. Standard library only.

A product [m, k] by [k, n] has 2 m k n operations, F, and m k + k n + m n numbers to move.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from cputrain.experiment import Experiment
from cputrain.model.flops import shares
from cputrain.model.products import runs
from cputrain.model.shapes import weight_shapes

NARROW = 64
"""Two dimensions of a product at which `narrow` is as large as its operations."""
NEAR = 1 << 20
"""Bytes of a product's arrays that stay in a core's own cache, of 0.5 to 2 MiB on today's CPUs."""
DOUBLING = 0.1
"""Share of a product's operations that `far` counts for each doubling beyond NEAR."""
FLOAT = 4
"""Bytes of a float32."""


class _Product(NamedTuple):
    """Products of one layer in a micro-batch: all have the same three arrays.

    Attributes:
        flops: of its runs.
        sizes: m, k, n.
    """

    flops: float
    sizes: tuple[int, int, int]


def narrow(experiment: Experiment) -> float:
    """Operations of a step's products, each times (1/m + 1/k + 1/n) NARROW / 2.

    That is the numbers moved for an operation, so what a product waits for beside computing.

    Args:
        experiment: settled.
    """
    thin = (
        flops * NARROW / 2 * math.fsum(1 / size for size in sizes)
        for flops, sizes in _products(experiment)
    )
    return math.fsum(thin) * experiment.training.grad_accum


def far(experiment: Experiment) -> float:
    """Operations of a step's products, each times DOUBLING log2(bytes of its arrays / NEAR).

    None where they fit. Measured as parts of a step (Xeon, 2 MiB of L2 a core), our own C computed
    177 GFLOP/s in products of 2 to 3 MB, 162 in those of 8 to 20 MB.

    Args:
        experiment: settled.
    """
    large = (
        flops * DOUBLING * max(0.0, math.log2(FLOAT * (m * k + k * n + m * n) / NEAR))
        for flops, (m, k, n) in _products(experiment)
    )
    return math.fsum(large) * experiment.training.grad_accum


def _products(experiment: Experiment) -> Iterator[_Product]:
    """Of one micro-batch; biases and norms multiply nothing."""
    shapes, training = weight_shapes(experiment), experiment.training
    tokens = training.batch_size * training.seq_len
    for name, share in shares(experiment).items():
        if len(shapes[name]) == 2:
            out, width = shapes[name]
            flops = 2 * share * out * width * tokens * sum(runs(experiment, name))
            yield _Product(flops, (tokens, width, out))
