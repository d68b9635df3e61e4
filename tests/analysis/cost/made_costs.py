"""A made machine whose costs are known, and cells that it measures exactly or with noise."""

import itertools
import math

import numpy as np
from settled import settled

from cputrain.analysis.cost import learn
from cputrain.analysis.cost.costs import Costs, EngineCosts
from cputrain.analysis.cost.observed import Observation
from cputrain.analysis.cost.scope import plain, ranges
from cputrain.analysis.cost.terms import Rates, terms

RATES = Rates(peak=150e9, bandwidth=30e9, threads=2, cache=32 << 20)
TRUE = {
    "products": 1.7,
    "narrow": 0.5,
    "far": 0.4,
    "attention": 3.0,
    "softmax": 1.5,
    "blocks": 1.4,
    "elementwise": 0.8,
    "logits": 5.0,
    "weights": 2.5,
    "optimizer": 1.2,
    "uncached": 0.6,
    "dispatch": 60.0,
    "apart": 500.0,
    "pages": 0.9,
}


def seconds(experiment, far=0.0):
    counted = terms(experiment, RATES, far)
    return math.fsum(TRUE[name] * counted[name] for name in TRUE)


def design():
    """Shapes of the suite that predictions are learned from, and several micro-batches."""
    from benchmarks.design import Design

    shapes = [Design().experiment(*cell) for cell in Design.cells() if cell[-1] == "torch"]
    return [*shapes, *(settled(grad_accum=count) for count in (4, 16))]


def observations(experiments, noise=0.0, seed=0):
    """One of each; the CPUs lie far apart during every third."""
    rng, reference = np.random.default_rng(seed), plain("torch")
    return [
        Observation(
            f"Made/{i}",
            experiment,
            reference,
            math.log(seconds(experiment, far) / seconds(reference, far))
            + noise * rng.standard_normal(),
            max(noise, 0.01),
            far=far,
        )
        for i, (experiment, far) in enumerate(zip(experiments, _far(), strict=False))
    ]


def _far():
    return (float(i % 3 == 2) for i in itertools.count())


def learned(experiments, noise=0.0, seed=0):
    """Of these cells alone, on torch."""
    reference_s = seconds(plain("torch"))
    return learn.of_time(observations(experiments, noise, seed), reference_s, RATES, "torch")


def costs(noise=0.02):
    """What is learned of the made machine from the design."""
    cells = design()
    reference_s = seconds(plain("torch"))
    engine = EngineCosts(learned(cells, noise), None, reference_s, ranges([*cells, plain("torch")]))
    return Costs(
        RATES.peak, RATES.bandwidth, RATES.threads, {"torch": engine}, [], cache=RATES.cache
    )


def never_seen():
    """Shapes between those of the design."""
    sizes = itertools.product((2, 5), (256, 448), (257, 12_000), (96, 320), (1, 3))
    for n_layer, n_embd, vocab_size, seq_len, batch_size in sizes:
        yield settled(
            n_layer=n_layer, n_embd=n_embd, n_head=n_embd // 64, vocab_size=vocab_size,
            seq_len=seq_len, batch_size=batch_size,
        )  # fmt: skip
