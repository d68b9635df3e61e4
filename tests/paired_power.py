"""What pairs and passes tell, as a table: half widths and shares of simulated cells told.

PYTHONPATH=. venv/bin/python tests/paired_power.py
"""

from __future__ import annotations

import math

import numpy as np
import simulated_pairs

from cputrain.analysis.paired.effect import effect
from cputrain.analysis.paired.noise import learn
from cputrain.analysis.paired.verdict import verdict

ENGINES = {
    "torch": simulated_pairs.TORCH,
    "native": simulated_pairs.NATIVE,
    "jax": simulated_pairs.JAX,
    "noisy": simulated_pairs.NOISY,
}


def fixed(rng, engine, log_effect, pairs, passes, cells=200, identical=5):
    """Effects of cells that all get the same passes, and the noise they are judged by."""

    def one_pass(log_effect, block):
        return simulated_pairs.one_pass(rng, engine, log_effect, pairs, block)

    blocks = engine.block * np.exp(engine.unlike * rng.standard_normal(cells))
    same = [one_pass(0.0, engine.block) for _ in range(identical)]
    ran = [[one_pass(log_effect, block) for _ in range(passes)] for block in blocks]
    # Others of the session: as many cells as an engine has, each with a single pass.
    noise = learn(same, [cell[:1] for cell in ran[:40]])
    return [effect(cell, noise) for cell in ran], noise


def power(engine, pairs, passes, seed=1, cells=200, sessions=4):
    """Median half width, and the shares of cells of 3 %, of 5 % and identical called different."""
    rng = np.random.default_rng(seed)
    widths, told = [], {}
    for percent in (0, 3, 5):
        words = []
        for _ in range(sessions):
            effects, noise = fixed(
                rng, engine, math.log1p(percent / 100), pairs, passes, cells // sessions
            )
            widths += [cell.half_width for cell in effects]
            words += [verdict(cell, noise).word for cell in effects]
        told[percent] = np.mean([word in ("faster", "slower") for word in words])
    return float(np.median(widths)), told[3], told[5], told[0]


def main():
    print("| engine | pairs | passes | half width | 3 % found | 5 % found | A/A called different |")
    print("|:--|--:|--:|--:|--:|--:|--:|")
    for name, engine in ENGINES.items():
        for passes in (1, 2, 3, 4):
            for pairs in (3, 4, 6, 8, 12):
                width, three, five, same = power(engine, pairs, passes)
                print(
                    f"| {name} | {pairs} | {passes} | {width:.2%} | {three:.0%} | {five:.0%} "
                    f"| {same:.1%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
