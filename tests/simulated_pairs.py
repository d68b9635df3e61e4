"""Sessions whose truth is known: a drifting machine, workers that differ, blocks in turns.

Pairs are dropped, effects made, cells chosen and closed by the program's own code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cputrain.analysis.paired import planning
from cputrain.analysis.paired.effect import Effect, effect
from cputrain.analysis.paired.model import OF_EFFECT, PAIR_SD, Pass
from cputrain.analysis.paired.noise import EngineNoise, learn
from cputrain.analysis.paired.planning import Candidate
from cputrain.analysis.paired.verdict import verdict
from cputrain.record.noise import Noise
from cputrain.record.sample import Sample

CPUS = 2
TICK_S = 0.01
BLOCK, DISCARDED = 25, 5  # ticks of a block with its discarded step, and of that step


@dataclass(frozen=True)
class Host:
    """What the machine does to all that runs on it."""

    wave: float = 0.08  # log amplitude, periods of 15 to 120 s
    steps_hz: float = 0.05
    step: float = 0.06  # log standard deviation
    bursts_hz: float = 0.03
    burst_s: float = 0.7
    burst: float = 0.35  # how much longer a step takes while others have CPUs
    stolen: float = 0.5  # share of bursts that the hypervisor takes; the others make threads wait


@dataclass(frozen=True)
class Engine:
    """How noisy an engine is: standard deviations of logarithms, of normal equivalents."""

    worker: float
    block: float
    unlike: float = 0.3  # how much cells differ in their noise of blocks, of logarithms
    host: Host = field(default_factory=Host)


CALM = Host(0.0, 0.0, 0.0, 0.0)
TORCH = Engine(worker=0.008, block=0.02)
NATIVE = Engine(worker=0.0035, block=0.008)
JAX = Engine(worker=0.0005, block=0.01)
NOISY = Engine(worker=0.01, block=0.05)
BUSY = Engine(worker=0.008, block=0.02, host=Host(bursts_hz=1.0, burst_s=0.15))
"""On a host that disturbs a third of the blocks."""


def one_pass(rng, engine, log_effect, pairs, block):
    """A pass of a cell: a fresh worker on both sides, `pairs` pairs less those dropped."""
    while True:
        ratios = _ratios(rng, engine, pairs, block)
        if ratios:
            apart = math.hypot(engine.worker, OF_EFFECT * log_effect)
            shift = log_effect + apart * rng.standard_normal()
            return Pass(tuple(shift + ratio for ratio in ratios))


def _ratios(rng, engine, pairs, block):
    """What noise and drift leave in the log ratios of the pairs that are not dropped."""
    host, ticks = engine.host, 2 * pairs * BLOCK
    at_s = np.arange(ticks) * TICK_S
    period_s, phase = rng.uniform(15, 120), rng.uniform(0, 2 * math.pi)
    drift = host.wave * np.sin(2 * math.pi * at_s / period_s + phase)
    for start in rng.integers(0, ticks, rng.poisson(host.steps_hz * ticks * TICK_S)):
        drift[start:] += host.step * rng.standard_normal()
    waited, stolen = np.zeros(ticks), np.zeros(ticks)
    for start in rng.integers(0, ticks, rng.poisson(host.bursts_hz * ticks * TICK_S)):
        end = start + max(round(rng.exponential(host.burst_s) / TICK_S), 1)
        (stolen if rng.random() < host.stolen else waited)[start:end] = 1
    slow = np.exp(drift) * (1 + host.burst * np.maximum(waited, stolen))
    times = np.log(_timed(slow).mean(axis=1))
    times += block / math.sqrt(2) / PAIR_SD * rng.standard_t(3, 2 * pairs)
    lost = host.burst / (1 + host.burst)
    samples = [
        _sample(rng, lost * of_wait, lost * of_steal)
        for of_wait, of_steal in zip(
            _timed(waited).mean(axis=1), _timed(stolen).mean(axis=1), strict=True
        )
    ]
    first, second = times[0::2], times[1::2]
    # ABBA, whoever begins.
    cell_is_first = (np.arange(pairs) + rng.integers(2)) % 2 == 0
    ratios = np.where(cell_is_first, first - second, second - first)
    both = zip(samples[0::2], samples[1::2], strict=True)
    drop = [
        sample.is_spoilt_beside(other) or other.is_spoilt_beside(sample) for sample, other in both
    ]
    return [float(ratio) for ratio, out in zip(ratios, drop, strict=True) if not out]


def _timed(ticks):
    """The ticks of each block, without those of the step that is discarded."""
    return ticks.reshape(-1, BLOCK)[:, DISCARDED:]


def _sample(rng, waited_share, stolen_share):
    """A block, with what the kernel says of it: steal comes in whole ticks of 10 ms of one CPU."""
    ticks = (BLOCK - DISCARDED) * CPUS
    stolen_ticks = math.floor(stolen_share * ticks + rng.random())
    noise = Noise(lost_share=waited_share, steal_share=stolen_ticks / ticks)
    return Sample(step_s=[1.0], loss=[1.0], noise=noise)


@dataclass
class Cell:
    """A cell with its truth."""

    log_effect: float
    block: float
    passes: list[Pass] = field(default_factory=list)
    effect: Effect | None = None

    def is_covered(self) -> bool:
        return self.effect.low <= math.exp(self.log_effect) <= self.effect.high


@dataclass(frozen=True)
class Session:
    """What came of it."""

    cells: list[Cell]
    noise: EngineNoise

    def words(self):
        return [verdict(cell.effect, self.noise).word for cell in self.cells]


def session(
    rng, engine, log_effects, pairs=(4, 8), identical=5, earlier=0, passes=3, budget_s=math.inf
):
    """A session of one engine; cells that are closed get no further pass.

    Args:
        log_effects: true ones, a cell each.
        pairs: of a cell's first pass, and of each later one.
        identical: A/A passes, spread over the session's passes.
        earlier: A/A passes of earlier sessions.
        passes: at most.
        budget_s: of each later pass; a cell costs half a second a pair.
    """
    like = engine.unlike
    cells = [Cell(e, engine.block * math.exp(like * rng.standard_normal())) for e in log_effects]
    before = [one_pass(rng, engine, 0.0, pairs[0], engine.block) for _ in range(earlier)]
    same = [one_pass(rng, engine, 0.0, pairs[0], engine.block) for _ in range(identical)]
    chosen = list(range(len(cells)))
    for number in range(passes):
        count = pairs[0] if number == 0 else pairs[1]
        for i in chosen:
            cell = cells[i]
            cell.passes.append(one_pass(rng, engine, cell.log_effect, count, cell.block))
        noise = learn(same, [cell.passes for cell in cells], before)
        for cell in cells:
            cell.effect = effect(cell.passes, noise)
        candidates = [Candidate(i, c.effect, noise, pairs[1] / 2) for i, c in enumerate(cells)]
        chosen = planning.next_pass(candidates, budget_s)
        if not chosen:
            break
    return Session(cells, noise)
