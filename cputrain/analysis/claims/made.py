"""Experiments that claims are about, and how pairs are made of them."""

from __future__ import annotations

from typing import Any

from cputrain.analysis.claims.claim import ClaimPair
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.experiment.presets import HEAVY, PRESETS
from cputrain.run.names import AGAIN_BESIDE

LIGHT, LONG, FEW = 16, 8, 4
"""Blocks of each side in a pass: of steps below 0.2 s, below 1 s, and of longer ones."""
SAME = 1.03
"""Times within this factor are the same, as in the verdicts of suites."""

BASE = Experiment()
LARGER = BASE.but(n_layer=6, n_embd=512, n_head=8, seq_len=512, vocab_size=8000)
MLM = PRESETS["mlm-80m"].experiment.but(micro_batches=1)
"""Its step is reckoned from one of its four micro-batches and the update."""
MLM_AS_GPT = BASE.but(n_layer=12, n_embd=768, n_head=12, vocab_size=8000, seq_len=512, **HEAVY)
"""The same shape with causal attention, which can be cut to windows; one micro-batch."""
PATH = PRESETS["path-2.5m"].experiment.but(steps=None)
WIKI = PRESETS["wiki-24m"].experiment
WIKI_FAST = PRESETS["wiki-24m-fast"].experiment
JAX = BASE.but(engine="jax", attention_backend="manual")
"""By hand is its fastest attention on a CPU."""


def pair(
    beside: str, reference: Experiment, change: str, blocks: int = LIGHT, **fields: Any
) -> ClaimPair:
    """A pair whose experiment is the reference with some fields changed."""
    return against(beside, reference, change, reference.but(**fields), blocks)


def against(
    beside: str, reference: Experiment, change: str, experiment: Experiment, blocks: int = LIGHT
) -> ClaimPair:
    """A pair of two experiments; both are settled."""
    return ClaimPair(beside, change, specs.settle(experiment), specs.settle(reference), blocks)


IDENTICAL = (
    pair("baseline", BASE, AGAIN_BESIDE),
    pair("baseline in jax", JAX, AGAIN_BESIDE),
)
"""For each engine of claims, the usual one first, a pair of the same experiment: the noise."""
