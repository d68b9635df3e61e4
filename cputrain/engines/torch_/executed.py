"""What torch really executed, held against what was asked: its own evidence, checked."""

from __future__ import annotations

from cputrain.engines.multiplied import of_torch
from cputrain.engines.torch_ import work_checks
from cputrain.engines.torch_.schema import ACTIVATION, MASK, TorchEvidence
from cputrain.experiment import Experiment
from cputrain.experiment.rules import WITH_ATTENTION
from cputrain.knobs.inforce import Check, same
from cputrain.record.evidence import SHARE_DIGITS

FLASH = "_scaled_dot_product_flash_attention_for_cpu"
"""The forward pass's fused kernel; every layer runs it once at least."""
LSTM = "mkldnn_rnn_layer"
"""Part of the names of oneDNN's layer, forward and backward."""


def checks(experiment: Experiment, evidence: TorchEvidence) -> list[Check]:
    """Everything that torch's `Engine.evidence` can show of this experiment."""
    results = [
        *of_torch(experiment, evidence.products_by_library, evidence.layer_products_by_library),
        *attention(experiment, evidence.ops),
        *dropout(experiment, evidence),
        *arrays(experiment, evidence),
        *activation(experiment, evidence.ops),
        *work_checks.products(experiment, evidence),
        *compilation(experiment, evidence),
        *compiled_code(experiment, evidence),
        *(check.as_check() for check in evidence.precision),
    ]
    if experiment.training.objective == "forward":
        return results
    kernel, expected = evidence.optimizer_kernel, experiment.runtime.optimizer_kernel
    results.append(same("optimizer kernel", expected, kernel))
    results += work_checks.optimizer(experiment, evidence.optimizer)
    again = experiment.training.activation_checkpointing
    return [*results, same("blocks computed again", again, evidence.checkpointed)]


def attention(experiment: Experiment, ops: dict[str, int]) -> list[Check]:
    """The kernel that mixes tokens, by the names in a profile of one step."""
    if experiment.model.architecture == "lstm":
        layers = sum(n for name, n in ops.items() if LSTM in name)
        return [Check("fused LSTM kernel", "> 0", layers, layers > 0)]
    if experiment.model.architecture not in WITH_ATTENTION:
        return []
    fused = sum(n for name, n in ops.items() if name.endswith(FLASH))
    if experiment.runtime.attention_backend == "manual":
        return [same("fused attention kernels", 0, fused)]
    slides = experiment.model.attention == "sliding" and not _is_whole(experiment)
    least = experiment.model.n_layer * (2 if slides else 1)
    return [Check("fused attention kernels", f">= {least}", fused, fused >= least)]


def _is_whole(experiment: Experiment) -> bool:
    """Whether attention has no window, or one of the whole sequence."""
    return experiment.model.window in (None, experiment.training.seq_len)


def dropout(experiment: Experiment, evidence: TorchEvidence) -> list[Check]:
    """Masks drawn: for the embedding and each branch, with attention also for its weights.

    And the share that they drop. Compiled code draws them in loops of its own.
    """
    if experiment.runtime.compile != "eager":
        return []
    drawn = evidence.ops.get(MASK, 0)
    # Nothing is dropped in evaluation mode, which a forward pass alone is in.
    if not experiment.model.dropout or experiment.training.objective == "forward":
        return [same("dropout masks", 0, drawn)]
    each = 3 if experiment.model.architecture in WITH_ATTENTION else 1
    least = 1 + each * experiment.model.n_layer
    share = round(experiment.model.dropout, SHARE_DIGITS)
    return [
        Check("dropout masks", f">= {least}", drawn, drawn >= least),
        same("share that is dropped", [share], evidence.dropped),
    ]


def activation(experiment: Experiment, ops: dict[str, int]) -> list[Check]:
    """The activation of the blocks: the operators that its line calls, and no others.

    gelu and its approximation by tanh have one name. Compiled code has loops of its own; IPEX's
    blocks may be fused.
    """
    model, runtime = experiment.model, experiment.runtime
    is_told = runtime.engine == "torch" and runtime.compile == "eager"
    if not is_told or model.architecture not in WITH_ATTENTION:
        return []
    from cputrain.engines.torch_ import activation_calls  # imports torch, which the worker has

    line = activation_calls.of_line(model.activation)
    checks = []
    for name, in_a_call in line.items():
        least, ran = model.n_layer * in_a_call, ops.get(name, 0)
        checks.append(Check(_called(name), f">= {least}", ran, ran >= least))
    others = {name: n for name, n in ops.items() if name.startswith(ACTIVATION)}
    return checks + [same(_called(name), 0, n) for name, n in others.items() if name not in line]


def _called(name: str) -> str:
    return f"calls of {name.removeprefix(ACTIVATION).removeprefix('aten::')}"


def arrays(experiment: Experiment, evidence: TorchEvidence) -> list[Check]:
    """Rows of logits that existed at a time, and queries of a window, by the profile's shapes."""
    model, runtime = experiment.model, experiment.runtime
    if runtime.engine != "torch":
        return []
    checks = []
    if runtime.loss_chunk is not None and evidence.logit_rows is not None:
        checks.append(same("rows of logits at a time", runtime.loss_chunk, evidence.logit_rows))
    if model.architecture in WITH_ATTENTION and evidence.queries is not None:
        length = experiment.training.seq_len
        window = length if model.window is None else min(model.window, length)
        # By hand, those of the heads that share keys are rows of one matrix.
        shared = model.n_head // model.kv_heads if runtime.attention_backend == "manual" else 1
        checks.append(same("queries of a call of attention", window * shared, evidence.queries))
    return checks


def compiled_code(experiment: Experiment, evidence: TorchEvidence) -> list[Check]:
    """Whether compiled code came from a cache, as asked, and was fused or not, as asked."""
    if experiment.runtime.compile != "inductor":
        return []
    where, cache, hits = "compiled code from the cache", evidence.cache, evidence.cache_hits
    if cache is None or hits is None:  # what ran is not inductor's
        return [Check(where, "some or none", None, False)]
    misses, state = cache.fxgraph_misses, experiment.runtime.jit_state
    # A steady worker may find what another one of the session has compiled: all of it, or nothing.
    if state == "warm" or (state == "steady" and hits and not misses):
        # Who filled the cache showed the fusions.
        return [Check(where, "> 0", hits, hits > 0), same("graphs compiled anew", 0, misses)]
    fused = same("fused operations", experiment.runtime.fusion, evidence.fused)
    return [fused, same(where, 0, hits)]


def compilation(experiment: Experiment, evidence: TorchEvidence) -> list[Check]:
    """One graph, no break, nothing recompiled, and the asked backend really ran."""
    if experiment.runtime.compile == "eager":
        return []
    checks = [
        same("compiled graphs", 1, evidence.graphs),
        same("graph breaks", 0, evidence.graph_breaks),
        same("recompiles", 0, evidence.recompiles),
        same("compile backend called", True, evidence.backend_called),
    ]
    if experiment.runtime.compile == "inductor":
        kernels = evidence.inductor_kernels
        checks.append(Check("inductor kernels in the profile", "> 0", kernels, bool(kernels)))
    return checks
