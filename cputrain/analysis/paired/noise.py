"""What pairs of one engine differ by when nothing differs: learned from a session.

How far workers are apart is learned from A/A pairs, and from cells that ran in several passes; the
noise of blocks from within the passes of all cells. Both are kept as a distribution, not as a best
estimate: where few passes tell, intervals are wider, as those of Student's t are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cputrain.analysis.paired import model
from cputrain.analysis.paired.model import Array, Pass

BLOCKS = np.geomspace(2e-4, 0.5, 36)
"""Scales of block noise that are thought possible, 0.02 % to 50 %, all alike likely beforehand."""
LIKENESS = np.array([0.15, 0.2, 0.3, 0.45, 0.7])
"""How much cells of one engine may differ in that: standard deviations of the log scale."""
WORKERS = np.geomspace(4e-4, 0.2, 22)
"""Scales of the worker effect that are thought possible."""
USUAL_WORKER = (0.007, 0.8)
"""What is thought of it beforehand: median and log standard deviation, so 0.15 % to 3.4 % in 95 of
100 cases. Identical workers beside each other were 0.35 % apart (native) to 1 % (torch)."""
OF_ANOTHER = (4.0, 0.9)
"""How far workers of one experiment are apart, over those of another one of the same engine: median
and log standard deviation. A/A passes are of a small model. By the passes of two studies and six
tunings of larger ones a factor of 4 is the likeliest, and 1 e^1.6 times less likely
(docs/figures/tuning-method.md)."""
OF_ENGINE = (1.5, 0.9)
"""The same of workers of one engine, over those of torch: in seven sweeps on two machines what was
learned of jax, numpy, own C and IPEX was 0.4 to 2.5 times torch's, 1.6 in the median."""
ENOUGH_PAIRS = 3
"""Pairs of an A/A pass whose median counts as what a worker may be off by."""
TINY = 1e-300
"""What is less likely than this is as good as impossible; its logarithm is a number."""
NEGLIGIBLE = 3e-4
"""Scales less likely than this, of the likeliest, are left out."""


@dataclass(frozen=True)
class EngineNoise:
    """The noise of one engine's pairs in one session. All scales are of natural logarithms.

    Attributes:
        block: typical noise of one pair, as the standard deviation of a normal distribution with
            the same quartiles; 0.02 is 2 %.
        worker: how far two workers of one experiment are apart, in the same terms.
        worker_low, worker_high: 90 % interval of `worker`.
        worst: the largest |log effect| of a single A/A pass of `ENOUGH_PAIRS`.
        identical: A/A passes that this was learned from.
        blocks, block_weights: scales a cell's pairs may have and how likely each is, shape (B,).
        workers, worker_weights: the same of the worker effect, shape (W,).
    """

    block: float
    worker: float
    worker_low: float
    worker_high: float
    worst: float
    identical: int
    blocks: Array
    block_weights: Array
    workers: Array
    worker_weights: Array


def learn(
    identical: Sequence[Pass],
    cells: Sequence[Sequence[Pass]] = (),
    earlier: Sequence[Pass] = (),
    of_another: Sequence[Pass] | None = None,
    apart: tuple[float, float] = OF_ANOTHER,
) -> EngineNoise | None:
    """The noise of one engine; None without any A/A pass: nothing tells what a worker is off by.

    Args:
        identical: the session's A/A passes: both workers ran the same experiment.
        cells: the passes of each other cell of the session. All tell the noise of blocks, those
            with two passes or more also how far workers are apart.
        earlier: A/A passes of earlier sessions on this machine; of their noise of blocks nothing
            is taken, the machine may have been calmer then.
        of_another: where the noise of one experiment is wanted, A/A passes of others: its workers
            are `apart` times as far apart as theirs, or as is usual where there are none, as far
            as its own passes do not tell.
        apart: median and log standard deviation: `OF_ANOTHER` or `OF_ENGINE`.
    """
    all_identical = [*identical, *earlier, *(of_another or ())]
    if not all_identical:
        return None
    session = [[pass_] for pass_ in identical] + [list(passes) for passes in cells if passes]
    session = session or [[pass_] for pass_ in all_identical]
    blocks, block_weights = _likely(BLOCKS, _block_weights(session))
    usual, log_sd = USUAL_WORKER
    log_likely = -0.5 * (np.log(WORKERS / usual) / log_sd) ** 2
    if of_another is not None:
        log_likely = _of_another(log_likely, of_another, apart)
    for pass_ in (*identical, *earlier):
        log_likely += _log_of_workers([pass_], np.zeros(1), blocks, block_weights)
    typical = _quantile(blocks, block_weights, 0.5)
    for passes in cells:
        if len(passes) > 1:
            growth = model.growth(passes)
            thetas = model.thetas(passes, typical, math.hypot(usual, growth))
            log_likely += _log_of_workers(passes, thetas, blocks, block_weights, growth)
    workers, worker_weights = _likely(WORKERS, np.exp(log_likely - np.max(log_likely)))
    low, middle, high = (_quantile(workers, worker_weights, at) for at in (0.05, 0.5, 0.95))
    return EngineNoise(
        block=model.PAIR_SD * typical,
        worker=model.WORKER_SD * middle,
        worker_low=model.WORKER_SD * low,
        worker_high=model.WORKER_SD * high,
        worst=_worst(all_identical),
        identical=len(all_identical),
        blocks=blocks,
        block_weights=block_weights,
        workers=workers,
        worker_weights=worker_weights,
    )


def with_blocks(noise: EngineNoise, cells: Sequence[Sequence[Pass]]) -> EngineNoise:
    """The same noise, but for that of blocks, which is learned from these cells alone.

    Args:
        noise: whose scales of the worker effect are kept.
        cells: the passes of each of them; one at least.
    """
    blocks, weights = _likely(BLOCKS, _block_weights(cells))
    typical = model.PAIR_SD * _quantile(blocks, weights, 0.5)
    return replace(noise, block=typical, blocks=blocks, block_weights=weights)


def _worst(identical: Sequence[Pass]) -> float:
    """The largest median; of a pass of few pairs it is the blocks' doing and not the worker's."""
    enough = [pass_ for pass_ in identical if len(pass_.log_ratios) >= ENOUGH_PAIRS]
    return max(abs(pass_.median) for pass_ in enough or identical)


def _block_weights(cells: Sequence[Sequence[Pass]]) -> Array:
    """How likely a cell has each of `BLOCKS`: log-normal about a typical scale, both learned."""
    within = np.stack([np.prod([_within(pass_) for pass_ in passes], axis=0) for passes in cells])
    logs = np.log(BLOCKS)
    about = -0.5 * ((logs[None, None, :] - logs[None, :, None]) / LIKENESS[:, None, None]) ** 2
    given = np.exp(about)
    given /= given.sum(axis=2, keepdims=True)  # shape (likeness, typical, scale)
    log_likely = np.log(np.maximum(given @ within.T, TINY)).sum(axis=2)
    weights = np.exp(log_likely - np.max(log_likely))
    return np.asarray(np.einsum("lt,lts->s", weights, given), dtype=np.float64)


def _within(pass_: Pass) -> Array:
    """How likely the pairs of a pass are for each of `BLOCKS`, wherever they lie: shape (B,)."""
    if len(pass_.log_ratios) < 2:
        return np.ones(len(BLOCKS))
    width = BLOCKS + model.spread(pass_.log_ratios)
    places = pass_.median + width[:, None] * model.offsets(0.3, 15.0)[None, :]
    density = model.pairs_density(pass_.log_ratios, places, BLOCKS[:, None])
    likely = np.trapezoid(density, places, axis=1)
    return np.asarray(likely / np.max(likely), dtype=np.float64)


def _log_of_workers(
    passes: Sequence[Pass],
    thetas: Array,
    blocks: Array,
    block_weights: Array,
    growth: float = 0.0,
) -> Array:
    """Log likelihood of each of `WORKERS`, with theta anywhere on its grid: shape (W,).

    Args:
        growth: scale of the part of w that is of the effect, none of two identical workers.
    """
    workers = np.hypot(WORKERS, growth)
    likely = model.likelihood(passes, thetas, blocks, workers) @ block_weights
    if len(thetas) > 1:
        return np.asarray(np.log(np.trapezoid(likely, thetas, axis=1)), dtype=np.float64)
    return np.asarray(np.log(likely[:, 0]), dtype=np.float64)


def _of_another(log_likely: Array, passes: Sequence[Pass], apart: tuple[float, float]) -> Array:
    """How likely each of `WORKERS` is for an experiment, by A/A passes of others.

    Args:
        log_likely: what is thought of the others beforehand.
        passes: theirs; the noise of blocks there is their own.
        apart: see `learn`.
    """
    if passes:
        blocks, block_weights = _likely(BLOCKS, _block_weights([[pass_] for pass_ in passes]))
        for pass_ in passes:
            log_likely = log_likely + _log_of_workers([pass_], np.zeros(1), blocks, block_weights)
    times, log_sd = apart
    logs = np.log(WORKERS)
    given = np.exp(-0.5 * ((logs[:, None] - logs[None, :] - math.log(times)) / log_sd) ** 2)
    likely = given / given.sum(axis=0) @ np.exp(log_likely - np.max(log_likely))
    return np.asarray(np.log(np.maximum(likely, TINY)), dtype=np.float64)


def _likely(scales: Array, weights: Array) -> tuple[Array, Array]:
    """The scales that are not negligible, with weights that sum to 1."""
    kept = weights > NEGLIGIBLE * np.max(weights)
    return scales[kept], weights[kept] / weights[kept].sum()


def _quantile(scales: Array, weights: Array, at: float) -> float:
    """Of scales with weights: where the sum of the weights passes `at`, in between by logs."""
    middles = np.cumsum(weights) - weights / 2
    return math.exp(float(np.interp(at, middles, np.log(scales))))
