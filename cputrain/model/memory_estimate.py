"""Memory of a training step, part by part, before it is run. Standard library only.

So that an experiment can be refused before anything is imported.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from cputrain.experiment import Experiment
from cputrain.experiment.activations import is_gated
from cputrain.experiment.rules import WITH_ATTENTION
from cputrain.model import on_paper, shares
from cputrain.model.attention_flops import has_fused_kernel
from cputrain.model.attention_kept import pair_numbers
from cputrain.model.kept import block_numbers
from cputrain.model.shapes import alike, is_trained, n_params, n_trained

FLOAT = 4
"""Bytes of a float32."""


@dataclass(frozen=True)
class Memory:
    """Bytes at the peak of a training worker's resident memory, by what they hold.

    Attributes:
        parameters: the weights, and the initial ones as float32, kept to prove that they moved;
            rounded or cast copies of them where the precision makes some.
        gradients: one for each trained parameter; more where the optimizer's kernel copies them,
            or DDP collects them.
        optimizer: its state; see `state_bytes`.
        activations: what the backward pass needs of one micro-batch, and the largest temporaries.
        buffers: masks and tables of positions.
        queue: batches that a streaming loader holds ready.
        framework: interpreter, libraries and their buffers.
    """

    parameters: int
    gradients: int
    optimizer: int
    activations: int
    buffers: int
    queue: int
    framework: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(dataclasses.astuple(self))


TORCHRUN = 240_000_000
"""Resident bytes of torchrun's own process."""
TORCHAO = 50_000_000
"""Resident bytes more with a precision of torchao's."""

ROUNDED = ("q8", "bitnet", "bitnet_torchao")
"""Precisions that round each layer's input, with temporaries of its size."""


def memory_bytes(experiment: Experiment) -> Memory:
    """Estimated peak memory of a worker: good to refuse what cannot fit, not to plan by the byte.

    What the engines keep is counted; the constants were measured (torch 2.13, NumPy 2.4). Of
    several processes it is the sum, shared libraries counted in each, and torchrun's own.
    """
    if (processes := experiment.system.processes) is not None:
        rank = memory_bytes(shares.of_rank(experiment, processes))
        all_of_them = {part: processes * size for part, size in dataclasses.asdict(rank).items()}
        all_of_them["gradients"] *= 2  # DDP's buckets
        all_of_them["framework"] += TORCHRUN
        return Memory(**all_of_them)
    training, runtime = experiment.training, experiment.runtime
    trains = training.objective != "forward"
    engine = on_paper.of(experiment)
    framework = engine.framework_bytes + engine.compiler_bytes.get(runtime.compile or "", 0)
    framework += TORCHAO if training.precision.endswith("torchao") else 0
    copies = 2 if runtime.optimizer_kernel == "foreach" else 1
    return Memory(
        parameters=parameter_bytes(experiment),
        gradients=copies * n_trained(experiment) * number_bytes(experiment) if trains else 0,
        optimizer=state_bytes(experiment) if trains else 0,
        activations=_activations(experiment),
        buffers=_buffers(experiment),
        queue=_queue(experiment),
        framework=framework,
    )


def number_bytes(experiment: Experiment) -> int:
    """Bytes of a weight, its gradient and its moments."""
    return 2 if experiment.training.precision == "bf16" else FLOAT


def parameter_bytes(experiment: Experiment) -> int:
    """The weights, the initial ones, and copies that a precision makes of the blocks' weights."""
    total = n_params(experiment) * (number_bytes(experiment) + FLOAT)
    matrices = sum(
        count * math.prod(shape)
        for name, shape, count in alike(experiment)
        if name.startswith("h.") and len(shape) == 2
    )
    # Bytes of a rounded copy that is kept for the backward pass, of all blocks at once.
    copy = {"mixed": 2, "q8": 1, "q4": FLOAT, "bitnet": FLOAT, "bitnet_torchao": 1}
    return total + copy.get(experiment.training.precision, 0) * matrices


def state_bytes(experiment: Experiment) -> int:
    """Bytes of the optimizer's state, without its counters.

    adamw: two moments; lion: one; sgd (no momentum): none; adafactor: a row and a column of
    each matrix, and the second moment of each vector (Shazeer & Stern 2018, alg. 4).
    """
    size = number_bytes(experiment)
    if experiment.training.optimizer == "adafactor":
        return size * sum(
            count * (sum(shape) if len(shape) == 2 else math.prod(shape))
            for name, shape, count in alike(experiment)
            if is_trained(experiment, name)
        )
    moments = {"adamw": 2, "lion": 1, "sgd": 0}[experiment.training.optimizer]
    return moments * size * n_trained(experiment)


def _activations(experiment: Experiment) -> int:
    """What is kept for the backward pass, and what is in use beside it at the peak."""
    model, training, runtime = experiment.model, experiment.training, experiment.runtime
    if (own := on_paper.of(experiment).activation_bytes(experiment)) is not None:
        return own
    tokens, width = training.batch_size * training.seq_len, model.n_embd
    kept, pairs = block_numbers(experiment), pair_numbers(experiment)
    attends = model.architecture in WITH_ATTENTION
    by_hand = attends and runtime.attention_backend == "manual"
    blocks = model.n_layer * kept
    if training.activation_checkpointing:
        # The block at hand twice: what its first pass freed is not all used again.
        blocks = model.n_layer * tokens * width + 2 * kept
    # Inside a block: the hidden layer and its gradients; by hand scores and theirs.
    gates = 2 if is_gated(model.activation) else 1
    used = tokens * 4 * (width + gates * model.hidden) if attends else kept // 2
    used += on_paper.of(experiment).used_per_pair * pairs if by_hand else 0
    used *= 2 if training.precision in ROUNDED else 1
    size = {"bf16": 2.0, "mixed": 2.5}.get(training.precision, float(FLOAT))
    # Logits, their logarithms and gradients are float32 in every precision.
    rows = min(runtime.loss_chunk or tokens, tokens)
    logits = rows * model.vocab_size * (2 if training.objective == "forward" else 3)
    if training.objective == "masked_node":
        logits += tokens * model.vocab_size  # of the first head, while the second is computed
    if runtime.loss_chunk:
        logits += model.vocab_size * width + tokens * width
    return round(size * (blocks + used)) + FLOAT * logits


def _buffers(experiment: Experiment) -> int:
    """Masks and tables, which all blocks share."""
    model, length = experiment.model, experiment.training.seq_len
    if model.architecture not in WITH_ATTENTION or not on_paper.of(experiment).has_buffers:
        return 0
    by_hand = not has_fused_kernel(experiment)
    window = model.window or length
    total = window**2 if by_hand and model.architecture != "bert" else 0
    if model.attention == "sliding" and window < length:
        total += 2 * window**2 * (1 if by_hand else FLOAT)
    if model.architecture == "llama":
        total += length * model.d_head * FLOAT
    return total


def _queue(experiment: Experiment) -> int:
    """Batches in a streaming loader's queue: ids and targets, int64, of one head or two."""
    training = experiment.training
    if training.loader != "stream" or not training.loader_workers:
        return 0
    arrays = 4 if training.objective == "masked_node" else 2
    return training.loader_queue * training.batch_size * training.seq_len * arrays * 8
