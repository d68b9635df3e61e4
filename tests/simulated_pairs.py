"""Sessions whose truth is known: a drifting machine, workers that differ, blocks in turns.

Effects are made, cells chosen and closed by the program's own code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import simulated_windows as windows
from simulated_windows import PairSpans, Span, Window

from cputrain.analysis.paired import planning
from cputrain.analysis.paired.effect import Effect, effect
from cputrain.analysis.paired.model import PAIR_SD, Pass
from cputrain.analysis.paired.noise import EngineNoise, learn
from cputrain.analysis.paired.planning import Candidate
from cputrain.analysis.paired.verdict import verdict

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


def one_pass(rng, engine, log_effect, pairs, block):
    """A pass of a cell: a fresh worker on both sides, `pairs` pairs less those dropped."""
    while True:
        ratios = _ratios(rng, engine, pairs, block)
        if ratios:
            shift = log_effect + engine.worker * rng.standard_normal()
            return Pass(tuple(shift + ratio for ratio in ratios))


def _ratios(rng, engine, pairs, block):
    """What noise and drift leave in the log ratios of the pairs that are not dropped."""
    host, ticks = engine.host, 2 * pairs * BLOCK
    at_s = np.arange(ticks) * TICK_S
    period_s, phase = rng.uniform(15, 120), rng.uniform(0, 2 * math.pi)
    drift = host.wave * np.sin(2 * math.pi * at_s / period_s + phase)
    for start in rng.integers(0, ticks, rng.poisson(host.steps_hz * ticks * TICK_S)):
        drift[start:] += host.step * rng.standard_normal()
    others = np.zeros(ticks)
    for start in rng.integers(0, ticks, rng.poisson(host.bursts_hz * ticks * TICK_S)):
        others[start : start + round(rng.exponential(host.burst_s) / TICK_S)] = 1
    slow = np.exp(drift) * (1 + host.burst * others)
    times = np.log(slow.reshape(2 * pairs, BLOCK)[:, DISCARDED:].mean(axis=1))
    times += block / math.sqrt(2) / PAIR_SD * rng.standard_t(3, 2 * pairs)
    # ABBA, whoever begins.
    first, second = times[0::2], times[1::2]
    cell_is_first = (np.arange(pairs) + rng.integers(2)) % 2 == 0
    ratios = np.where(cell_is_first, first - second, second - first)
    drop = windows.dropped(_spans(cell_is_first), _windows(others)).pairs
    return [float(ratio) for ratio, out in zip(ratios, drop, strict=True) if not out]


def _spans(cell_is_first):
    spans = []
    for number, first in enumerate(cell_is_first):
        start = 2 * number * BLOCK * TICK_S
        blocks = [
            Span(start + i * BLOCK * TICK_S, start + (i + 1) * BLOCK * TICK_S) for i in (0, 1)
        ]
        spans.append(PairSpans(*(blocks if first else blocks[::-1])))
    return spans


def _windows(others):
    """Windows of two seconds: the last one reaches back, so that it is as long."""
    length = round(windows.WINDOW_S / TICK_S)
    starts = {min(start, max(len(others) - length, 0)) for start in range(0, len(others), length)}
    return [
        Window(
            span=Span(start * TICK_S, start * TICK_S + windows.WINDOW_S),
            cpus=CPUS,
            others_s=float(others[start : start + length].sum() * TICK_S),
            wait_s=None,
            steal_s=0.0,
            throttled_s=0.0,
        )
        for start in sorted(starts)
    ]


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
