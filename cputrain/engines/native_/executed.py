"""What the native engine really executed, held against what was asked."""

from __future__ import annotations

from cputrain.engines.multiplied import of_all, of_layers_by_hand
from cputrain.engines.native_.schema import NativeEvidence
from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check, same
from cputrain.model.native import KEYS, blocks


def checks(experiment: Experiment, evidence: NativeEvidence) -> list[Check]:
    """The products by library, and the calls of the library that multiplies.

    Each product is one call at least, and more where the threads share it out; there is none
    where the engine's own code multiplies.
    """
    name, calls = "calls of another library", evidence.library_calls
    counted = evidence.products_by_library
    backend, least = experiment.runtime.matmul_backend, products(experiment)
    if backend == "default":
        return [of_all("own", least, counted), same(name, 0, calls)]
    return [of_all(backend, least, counted), Check(name, f">= {least}", calls, calls >= least)]


def products(experiment: Experiment) -> int:
    """All products of the native engine in one micro-batch.

    Attention goes by blocks of queries, of which each head has two products forward (scores,
    their sums of values) and three backward (gradients of queries, keys and values), and a fourth
    one, of the weights, by blocks of those keys that its queries see.
    """
    model, training = experiment.model, experiment.training
    head = sum(5 + -(-end // KEYS) for _, end in blocks(training.seq_len))
    heads = training.batch_size * model.n_head
    return of_layers_by_hand(experiment) + model.n_layer * heads * head
