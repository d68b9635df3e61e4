"""The parts of a training step on paper: operations and bytes of each. Standard library only.

The parts are those that engines tell apart by the clock (`engines.parts`):

    embedding     looking up tokens and positions, and adding up their gradients
    attention     scores, softmax and weighted sums, without the layers around them
    products      the blocks' linear layers, with their biases
    head          the product with the vocabulary's table, and the loss
    elementwise   norms, activations, residual additions
    optimizer     the update
    data          turning a batch into what the engine takes
    framework     what lies between: the interpreter, bookkeeping, autograd
    other         what an engine cannot put anywhere
"""

from __future__ import annotations

import math
from typing import NamedTuple

from cputrain.experiment import Experiment
from cputrain.experiment.activations import is_gated
from cputrain.model import on_paper
from cputrain.model.attention_flops import has_fused_kernel
from cputrain.model.attention_kept import pair_numbers
from cputrain.model.flops import flops_per_step
from cputrain.model.products import runs
from cputrain.model.shapes import Alike, alike, n_trained

NAMES = (
    *("embedding", "attention", "products", "head"),
    *("elementwise", "optimizer", "data", "framework", "other"),
)
"""The parts, in the order of a step."""

INDEX_BYTES = 8
"""Of a token's id."""

OPTIMIZER_NUMBERS = {"adamw": 7, "lion": 5, "sgd": 3}
"""Numbers that an update reads and writes for each weight: the weight twice, its gradient once,
each moment twice."""


class Work(NamedTuple):
    """What a part does in one optimizer step.

    Attributes:
        flops: of its matrix products, as `model.flops` counts them: 0 for parts without.
        bytes: that it has to read and write; None where no formula is here.
    """

    flops: int
    bytes: int | None


def by_part(experiment: Experiment) -> dict[str, Work]:
    """Operations and bytes of one optimizer step, by part; operations sum to `flops_per_step`.

    Bytes are the compulsory ones: each array that one operation leaves for another is written
    once and read once by each that needs it; what is used within one operation stays in cache.
    n tokens of a micro-batch, C = n_embd, I = n_head d_head, H = hidden (2 H where gated),
    V = vocab_size, T = seq_len, L = n_layer, P trained weights; numbers of 4 bytes (bf16: 2):

        embedding     forward 3 n C (two rows read, their sum written); backward 3 n C + T C
        attention     L (4 n I forward, 8 n I backward: q, k, v, y, dy read, dq, dk, dv written);
                      not in one kernel, the weights of all pairs: 2 forward, 2 backward
        products      of each of a layer's up to three products (`products.runs`), [n, in] by
                      [in, out]: n in + in out + n out
        head          the same of the table, and 2 n V: logits read, their gradient written
        elementwise   (2 L + 1) norms: 2 n C forward, 3 n C backward; L activations: in + out
                      forward, 2 in + out backward; 2 L additions: 3 n C each way, where they are
                      not done by the product before them
        optimizer     7 P for AdamW, 5 P for Lion, 3 P for SGD, once a step
        data          ids and targets, 8 bytes each

    With objective = "forward" the backward terms are left out.

    Args:
        experiment: settled; a GPT that is trained from scratch, as the formulas are of that one.

    Raises:
        ValueError: another architecture, or one that recomputes or freezes.
    """
    _require_gpt(experiment)
    training = experiment.training
    number = 2 if training.precision == "bf16" else 4
    moved = _numbers(experiment)
    sizes = {name: count * number * training.grad_accum for name, count in moved.items()}
    sizes["data"] = 2 * INDEX_BYTES * training.tokens_per_step
    update = OPTIMIZER_NUMBERS.get(training.optimizer)
    trains = training.objective != "forward"
    flops = _flops(experiment)
    works = {name: Work(flops.get(name, 0), sizes.get(name, 0)) for name in NAMES}
    bytes_of_update = None if update is None else update * n_trained(experiment) * number
    works["optimizer"] = Work(0, bytes_of_update if trains else 0)
    return works


def _require_gpt(experiment: Experiment) -> None:
    model, training = experiment.model, experiment.training
    plain = not training.activation_checkpointing and training.fine_tuning == "scratch"
    if model.architecture != "gpt" or model.attention != "full" or not plain:
        raise ValueError("parts of a step are counted for a GPT with full attention, from scratch")


def _flops(experiment: Experiment) -> dict[str, int]:
    """Operations of matrix products; as in `model.flops`, whose total is theirs."""
    counted = flops_per_step(experiment)
    name, shape, _ = _head(experiment)
    tokens = experiment.training.tokens_per_step
    head = 2 * math.prod(shape) * tokens * sum(runs(experiment, name))
    return {
        "attention": counted.attention,
        "products": counted.matmul - head,
        "head": head,
    }


def _head(experiment: Experiment) -> Alike:
    """The table that is multiplied with; a tied one is that of the tokens."""
    head = "wte" if experiment.model.tied else "head.weight"
    return next(its for its in alike(experiment) if its.name == head)


def _numbers(experiment: Experiment) -> dict[str, int]:
    """Numbers read and written in one micro-batch, by part."""
    model, training = experiment.model, experiment.training
    n, width = training.batch_size * training.seq_len, model.n_embd
    trains = int(training.objective != "forward")
    weights = alike(experiment)
    layers = [its for its in weights if its.name.startswith("h.") and len(its.shape) == 2]
    query, shared = model.n_head * model.d_head, model.kv_heads * model.d_head
    qkv = query + 2 * shared
    # Forward q, k, v in and y out; backward these, dy, and the gradients of q, k, v.
    attention = n * (qkv + query + trains * (2 * qkv + 2 * query))
    if not has_fused_kernel(experiment):
        attention += pair_numbers(experiment) * (2 + 2 * trains)
    hidden_in = model.hidden * (2 if is_gated(model.activation) else 1)
    activation = n * (hidden_in + model.hidden + trains * (2 * hidden_in + model.hidden))
    norm = n * width * (2 + 3 * trains)
    addition = 0 if on_paper.of(experiment).adds_in_products else 3 * n * width * (1 + trains)
    head = _product_numbers(experiment, _head(experiment), n)
    return {
        "embedding": 3 * n * width * (1 + trains) + trains * training.seq_len * width,
        "attention": model.n_layer * attention,
        "products": sum(_product_numbers(experiment, its, n) for its in layers),
        "head": head + n * model.vocab_size * (1 + trains),
        "elementwise": (2 * model.n_layer + 1) * norm + model.n_layer * (activation + 2 * addition),
    }


def _product_numbers(experiment: Experiment, its: Alike, n: int) -> int:
    """Of layers' products: each has two of its three arrays to read and one to write."""
    out, width = its.shape
    return its.copies * sum(runs(experiment, its.name)) * (n * width + width * out + n * out)
