"""What JAX really executed, held against what was asked: its own evidence, checked.

The evidence is `engines.jax_.evidence.look` of the compiled training step.
"""

from __future__ import annotations

from cputrain.engines.jax_.schema import JaxEvidence
from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check, same
from cputrain.model.shapes import n_params
from cputrain.record.evidence import SHARE_DIGITS

STATES = {"adamw": 2, "lion": 1, "sgd": 0}
"""Numbers of the optimizer's state for each weight."""
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
    """jax.nn.dot_product_attention, or nothing of it."""
    fused, name = evidence.fused_attention, "instructions of jax.nn.dot_product_attention"
    if experiment.runtime.attention_backend == "manual":
        return [same(name, 0, fused)]
    return [Check(name, "> 0", fused, fused > 0)]


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
    return [
        Check("numbers updated in place", f">= {least}", donated, donated >= least),
        same("results in new memory", [], fresh),
    ]


def again(experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
    """Products that jax.checkpoint computes again: some of every layer, or none."""
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
    return [
        Check(name, "> 0", operations, operations > 0),
        same("share that is dropped", [share], evidence.dropped),
    ]


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
