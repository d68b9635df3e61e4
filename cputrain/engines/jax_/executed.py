"""What JAX really executed, held against what was asked: its own evidence, checked.

The evidence is `engines.jax_.evidence.look` of the compiled training step.
"""

from __future__ import annotations

from typing import Any

from cputrain.engines.jax_.schema import JaxEvidence
from cputrain.experiment import Experiment
from cputrain.experiment.activations import ACTIVATIONS, is_gated
from cputrain.knobs.inforce import Check, same
from cputrain.model.attention_kept import pair_numbers
from cputrain.model.flops import flops_per_step
from cputrain.model.shapes import n_params
from cputrain.record.evidence import SHARE_DIGITS

STATES = {"adamw": 2, "lion": 1, "sgd": 0}
"""Numbers of the optimizer's state for each weight."""
COUNTERS = 4
"""More than any optimizer here has of single numbers: those of its updates."""
ABOVE = {"avx2": ("avx512", "avx10", "amx"), "baseline": ("avx", "amx", "fma", "f16c")}
"""How the names of instructions above a cap begin, as LLVM has them."""


def checks(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """Everything that its `Engine.evidence` can show of this experiment."""
    return [
        *fusion(experiment, evidence),
        *attention(experiment, evidence),
        *numbers(experiment, evidence),
        *memory(experiment, evidence),
        *again(experiment, evidence),
        *dropout(experiment, evidence),
        *activation(experiment, evidence),
        *work(experiment, evidence),
        *update(evidence),
        *instructions(experiment, evidence),
        *program(experiment, evidence),
    ]


def fusion(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """Loops of several operations; without fusion no library's call has several either."""
    loops, calls = evidence.loops_of_several, evidence.calls_of_several
    name = "loops of several operations"
    if experiment.runtime.fusion:
        return [Check(name, "> 0", loops, loops > 0)]
    return [same(name, 0, loops), same("library calls of several operations", 0, calls)]


def attention(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """jax.nn.dot_product_attention and nothing by hand, or nothing of it."""
    fused, name = evidence.fused_attention, "instructions of jax.nn.dot_product_attention"
    if experiment.runtime.attention_backend == "manual":
        return [same(name, 0, fused)]
    by_hand = told("instructions of attention by hand", 0, evidence.by_hand)
    return [Check(name, "> 0", fused, fused > 0), *by_hand]


def told(name: str, expected: Any, actual: Any) -> list[Check]:
    """As `same`; nothing where the program's text does not tell it."""
    return [] if actual is None else [same(name, expected, actual)]


def work(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """The products of every layer, micro-batch and row, each block's window and each head.

    Nothing of sums over one number, which XLA does without a product.
    """
    model, training = experiment.model, experiment.training
    if 1 in (model.n_embd, model.d_head, model.window or training.seq_len):
        return []
    expected = flops_per_step(experiment).total
    heads = "matrices that products multiply side by side"
    return [
        *told("operations of matrix products", expected, evidence.operations),
        *told(heads, side_by_side(experiment), evidence.side_by_side),
    ]


def update(evidence: JaxEvidence) -> list[Check]:
    """The optimizer's settings, by what a step did to the weights; nothing where none was run."""
    done = evidence.followed
    if done is None:
        return []
    checks = [same("weights where the optimizer's formula puts them", done.looked, done.weights)]
    moments = told("weights with the moments of their gradient", done.looked, done.moments)
    return [*checks, *moments]


def side_by_side(experiment: Experiment) -> list[int]:
    """Those of attention: each sequence, or block of it, and each head of keys."""
    model, training = experiment.model, experiment.training
    blocks = training.seq_len // (model.window or training.seq_len)
    by_attention = {"local": {blocks}, "sliding": {1, blocks - 1}}.get(model.attention, {1})
    heads = training.batch_size * model.kv_heads
    return sorted({heads * count for count in by_attention} - {0, 1})


def activation(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """The functions that it calls; nothing where it calls others than those that are told apart."""
    calls, name = _Calls(), experiment.model.activation
    try:
        ACTIVATIONS[name](calls, *[1.0] * (2 if is_gated(name) else 1))
    except AttributeError:
        return []
    return told("functions of the activation", sorted(calls.functions), evidence.functions)


class _Calls:
    """In the place of `torch.nn.functional`: what an activation calls, as `hlo_work.functions`."""

    def __init__(self) -> None:
        self.functions: set[str] = set()

    def gelu(self, x: float, approximate: str = "none") -> float:
        self.functions.add("tanh" if approximate == "tanh" else "erf")
        return x

    def relu(self, x: float) -> float:
        self.functions.add("relu")
        return x

    def silu(self, x: float) -> float:
        self.functions.add("silu")
        return x


def numbers(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """The numbers that are multiplied: fp32, or with bf16 in each product.

    Where XLA has no product of bf16 it multiplies numbers rounded to bf16 as fp32, which the
    types found tell; gradients of fp32 results may be multiplied by bf16 factors.
    """
    kinds = evidence.products_by_numbers
    if experiment.training.precision == "fp32":
        return [same("numbers of matrix products", ["f32"], sorted(kinds))]
    right = bool(kinds) and all("bf16" in kind for kind in kinds)
    return [Check("numbers of matrix products", "bf16 in each", sorted(kinds), right)]


def memory(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """Weights and the optimizer's state are written where they stood."""
    least = n_params(experiment) * (1 + STATES[experiment.training.optimizer])
    donated, fresh = evidence.donated, evidence.not_donated
    right = least <= donated <= least + COUNTERS
    return [
        Check("numbers updated in place", f"{least} and counters", donated, right),
        same("results in new memory", [], fresh),
    ]


def again(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """Products that jax.checkpoint computes again: some of every layer, or none.

    That all of every layer are is in `work`.
    """
    repeated, name = evidence.computed_again, "products computed again"
    if not experiment.training.activation_checkpointing:
        return [same(name, 0, repeated)]
    least = experiment.model.n_layer
    return [Check(name, f">= {least}", repeated, repeated >= least)]


def dropout(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """Operations of the generator of random numbers, some with dropout, else none; its share."""
    operations, name = evidence.random, "operations of the random generator"
    if not experiment.model.dropout:
        return [same(name, 0, operations)]
    share = round(experiment.model.dropout, SHARE_DIGITS)
    checks = [
        Check(name, "> 0", operations, operations > 0),
        same("share that is dropped", [share], evidence.dropped),
    ]
    least, drawn = masks(experiment), evidence.drawn
    if drawn is not None:
        checks.append(Check("random numbers drawn", f">= {least}", drawn, drawn >= least))
    return checks


def masks(experiment: Experiment) -> int:
    """Places that dropout's masks have: of embeddings, of attention's weights, of both branches.

    With checkpointing those of the blocks are drawn again in the backward pass.
    """
    model, training = experiment.model, experiment.training
    tokens = training.tokens_per_step * model.n_embd
    pairs = pair_numbers(experiment) * training.grad_accum
    runs = 2 if training.activation_checkpointing else 1
    return tokens + runs * model.n_layer * (pairs + 2 * tokens)


def instructions(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """What XLA's compiler may write, and that no library multiplies which heeds no cap.

    `knobs.xla` shows what was written.
    """
    level = experiment.system.instruction_set
    if level == "native":
        return []
    target = evidence.target
    above = [name for name in target if name.startswith(ABOVE[level])]
    by_library = evidence.products_by_library.get("ynnpack", 0)
    return [
        Check(f"XLA's target above {level}", "none", above or "none", bool(target) and not above),
        same("products by YNNPACK, which heeds no cap", 0, by_library),
    ]


def program(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """One program, compiled once; from the cache of an earlier process, or not, as asked."""
    step = evidence.program
    hits, misses, state = step.hits, step.misses, experiment.runtime.jit_state
    checks = [same("compilations of the step", 1, step.compiled)]
    where, anew = "step from the cache of compiled code", "step compiled although there is a cache"
    expected = {"steady": (0, 0), "cold": (0, 1), "warm": (1, 0)}[state]
    return [*checks, same(where, expected[0], hits), same(anew, expected[1], misses)]
