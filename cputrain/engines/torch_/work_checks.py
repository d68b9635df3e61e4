"""Checks of how much torch did: products, runs of blocks, and the optimizer's own settings."""

from __future__ import annotations

from cputrain.engines.rates import rate_at
from cputrain.engines.torch_ import product_work
from cputrain.engines.torch_.schema import OptimizerState, TorchEvidence
from cputrain.experiment import Experiment
from cputrain.experiment.rules import WITH_ATTENTION
from cputrain.knobs.inforce import Check, same
from cputrain.model import shares
from cputrain.model.memory_estimate import state_bytes
from cputrain.model.shapes import trained

CLASSES = {"adamw": "AdamW", "sgd": "SGD", "lion": "Lion", "adafactor": "Adafactor"}
"""What each optimizer calls itself in a profile."""
WITH_BETAS = ("adamw", "lion")


def products(experiment: Experiment, evidence: TorchEvidence) -> list[Check]:
    """Operations of the matrix products, heads of attention, and runs of the blocks.

    IPEX has operators of its own, which are not counted.
    """
    checks = []
    if evidence.block_runs is not None:
        times = 2 if experiment.training.activation_checkpointing else 1
        checks.append(same("forward passes of each block", [times], evidence.block_runs))
    if experiment.runtime.engine != "torch":
        return checks
    expected = product_work.expected(experiment)
    if expected is None or evidence.product_flops is None:
        return checks + heads(experiment, evidence)
    what = "operations of matrix products in a micro-batch"
    return [*checks, *heads(experiment, evidence), same(what, expected, evidence.product_flops)]


def heads(experiment: Experiment, evidence: TorchEvidence) -> list[Check]:
    """Heads of queries and of keys: of the fused kernel's calls, or by hand its products at a time.

    By hand the query heads that share keys are rows of one matrix.
    """
    model = experiment.model
    if model.architecture not in WITH_ATTENTION or evidence.heads is None:
        return []
    if experiment.runtime.attention_backend == "sdpa":
        pair = [[model.n_head, model.kv_heads]]
        return [same("heads of queries and keys", pair, evidence.heads)]
    if product_work.expected(experiment) is None:
        return []
    batches = [model.kv_heads * n for n in _sequences(experiment)]
    return [same("products of attention at a time", sorted({*batches}), evidence.batched)]


def _sequences(experiment: Experiment) -> list[int]:
    """Sequences that calls of attention have at a time: windows are folded into them."""
    if (processes := experiment.system.processes) is not None:
        experiment = shares.of_rank(experiment, processes)
    rows, length = experiment.training.batch_size, experiment.training.seq_len
    windows = length // (experiment.model.window or length)
    if experiment.model.attention == "sliding" and windows > 1:
        return [rows, rows * (windows - 1)]
    return [rows * windows]


def optimizer(experiment: Experiment, state: OptimizerState | None) -> list[Check]:
    """The optimizer that stepped, and what it says of its settings, tensors and state."""
    if state is None:
        return []
    training, name = experiment.training, experiment.training.optimizer
    rate = training.learning_rate
    if state.steered_rate is not None:
        rate = state.steered_rate
    elif state.updates:
        rate = rate_at(training, state.updates)
    tensors = len(trained(experiment))
    checks = [
        same("optimizer", CLASSES[name], state.name),
        same("learning rate in the optimizer", [rate], state.learning_rate),
        same("weight decay in the optimizer", [training.weight_decay], state.weight_decay),
        same("kernel in the optimizer", [experiment.runtime.optimizer_kernel], state.kernel),
        same("tensors of the optimizer", tensors, state.tensors),
        same("trained tensors that the optimizer has once", tensors, state.once),
    ]
    if name in WITH_BETAS:
        betas = [[training.beta1, training.beta2]]
        checks.append(same("betas in the optimizer", betas, state.betas))
    if name == "adamw":
        checks.append(same("epsilon in the optimizer", [training.eps], state.eps))
    if state.state_bytes is not None and experiment.runtime.engine == "torch":
        checks.append(same("bytes of the optimizer", state_bytes(experiment), state.state_bytes))
    return checks
