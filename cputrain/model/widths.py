"""Hidden widths of blocks that are not a transformer's: as many parameters as gpt's block."""

from __future__ import annotations

import bisect
from collections.abc import Callable

from cputrain.experiment import Experiment


def gpt_block(experiment: Experiment) -> int:
    """Parameters of gpt's block of the same n_embd and mlp_ratio, with a head for each query."""
    model = experiment.model
    width, ratio = model.n_embd, model.mlp_ratio
    return (4 + 2 * ratio) * width**2 + (9 + ratio) * width


def nearest(target: int, count: Callable[[int], int], step: int) -> int:
    """The multiple of `step`, at least one, whose `count` is nearest to `target`.

    `count` has to grow with the width.
    """
    steps = 1
    while count(steps * step) < target:
        steps *= 2
    enough = bisect.bisect_left(range(1, steps), target, key=lambda n: count(n * step))
    width = (1 + enough) * step
    below = max(width - step, step)
    return min(below, width, key=lambda w: abs(count(w) - target))
