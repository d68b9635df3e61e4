"""What the fields of an experiment mean together: combinations that cannot be, each with its rule.

Nothing is adjusted here to fit: what does not is refused, naming the fields. A field that is still
None, the engine's plain way, breaks no rule: the rules are asked again once it is known, with those
of the engine (`engines.specs.settle`).
"""

from __future__ import annotations

from cputrain.experiment import rules_system
from cputrain.experiment.activations import is_gated
from cputrain.experiment.budget import Budget
from cputrain.experiment.fields import refuse
from cputrain.experiment.parts import Model, Training
from cputrain.experiment.runtime import Runtime
from cputrain.experiment.system import System

BYTES = 257
"""Ids of the byte vocabulary: 256 bytes and end of text."""
KERNELS = {"lion": ("default",), "adafactor": ("foreach", "default")}
"""Of an optimizer, the kernels, where it has not all; the first is its plain way."""
PATHS = 45
"""Ids of the made paths."""
WITH_ATTENTION = ("gpt", "llama", "bert", "moe")
EXPERTS = 4
"""Experts of architecture = "moe"."""
KEEPS_CODE = ("inductor", "xla")
"""Compilers that fuse operations and can keep their code on disk."""
WITH_CODE = "'inductor' or 'xla'"
GROUP = 32
"""Weights that share one scale in precision = "q4"."""


def check(
    model: Model, training: Training, runtime: Runtime, system: System, budget: Budget
) -> None:
    """Raise ExperimentError for the first rule that the parts break together."""
    _architecture(model)
    _without_transformer(model, training, runtime)
    _window(model, training)
    _data(model, training)
    _training(model, training, runtime)
    _compile(runtime)
    rules_system.check(model, training, runtime, system)
    _precision(model, training, runtime, system)
    if budget.micro_batches is not None and budget.micro_batches > training.grad_accum:
        refuse("micro_batches", budget.micro_batches, f"grad_accum = {training.grad_accum} is all")
    if budget.micro_batches is not None and system.processes is not None:
        rule = f"with processes = {system.processes} whole steps are timed: gradients travel once"
        refuse("micro_batches", budget.micro_batches, rule)


def _architecture(model: Model) -> None:
    if model.architecture not in WITH_ATTENTION:
        for name, only in (("n_kv_head", None), ("head_dim", None), ("attention", "full")):
            if getattr(model, name) != only:
                value = getattr(model, name)
                refuse(name, value, f"architecture = {model.architecture!r} has no attention")
    if model.architecture == "llama" and model.d_head % 2:
        refuse("head_dim", model.d_head, "rotary positions turn pairs: an even number is needed")


def _without_transformer(model: Model, training: Training, runtime: Runtime) -> None:
    """What lstm, gmlp, ssm and moe leave open, and what they cannot take."""
    kind = f"architecture = {model.architecture!r}"
    if model.architecture in ("lstm", "ssm") and model.activation != "gelu":
        refuse("activation", model.activation, f"{kind} has functions of its own: not to be chosen")
    if model.architecture == "gmlp" and is_gated(model.activation):
        refuse("activation", model.activation, f"{kind} has a gate of its own")
    if model.architecture == "moe" and model.hidden % EXPERTS:
        rule = f"a hidden width of {model.hidden} does not divide among {EXPERTS} experts"
        refuse("n_embd", model.n_embd, rule)
    if model.architecture in ("lstm", "moe") and runtime.compile not in ("eager", None):
        rule = f"{kind} cannot be captured as one graph: 'eager' is needed"
        refuse("compile", runtime.compile, rule)
    if model.architecture == "lstm" and training.precision not in ("fp32", "bf16", "mixed"):
        rule = f"{kind} is one fused layer, in fp32, bf16 or mixed only"
        refuse("precision", training.precision, rule)


def _window(model: Model, training: Training) -> None:
    if (model.attention == "full") != (model.window is None):
        needed = "no window" if model.attention == "full" else "a window"
        refuse("window", model.window, f"attention = {model.attention!r} has {needed}")
    if model.window is None:
        return
    if model.architecture == "bert":
        refuse("attention", model.attention, "architecture = 'bert' has full attention only")
    if model.window > training.seq_len:
        refuse("window", model.window, f"seq_len = {training.seq_len} is less")
    if training.seq_len % model.window:
        refuse("window", model.window, f"seq_len = {training.seq_len} does not divide by it")


def _data(model: Model, training: Training) -> None:
    if training.is_masked != (model.architecture == "bert"):
        rule = "masked objectives and architecture = 'bert' belong together"
        refuse("objective", training.objective, f"{rule}, found {model.architecture!r}")
    least = PATHS if training.dataset == "paths" else BYTES
    what = f"the tokenizer of dataset = {training.dataset!r} has {least} ids"
    if training.is_masked:
        least, what = least + 1, f"{what}, and objective = {training.objective!r} a mask"
    if model.vocab_size < least:
        refuse("vocab_size", model.vocab_size, f"{what}: at least {least} is needed")
    if training.dataset == "paths":
        if training.packing != "padded":
            refuse("packing", training.packing, "dataset = 'paths' is padded")
        if training.is_masked:
            refuse("objective", training.objective, "dataset = 'paths' has no masked objective")
        if training.seq_len < 20:
            refuse("seq_len", training.seq_len, "dataset = 'paths' has walks of up to 20 tokens")
    if training.packing == "padded" and training.is_masked:
        refuse("packing", training.packing, "masked objectives are packed")
    if training.objective == "masked_node" and training.seq_len % 2:
        refuse("seq_len", training.seq_len, "half of a masked_node sequence are nodes: even needed")
    if training.loader == "memory" and training.loader_workers:
        refuse("loader_workers", training.loader_workers, "loader = 'memory' has none")
    if training.loader == "stream" and training.dataset == "paths":
        refuse("loader", training.loader, "dataset = 'paths' is made in memory")


def _training(model: Model, training: Training, runtime: Runtime) -> None:
    attends = model.architecture in WITH_ATTENTION
    if model.dropout and attends and runtime.attention_backend == "sdpa":
        rule = "the fused kernel has no dropout: attention_backend = 'manual' is needed"
        refuse("dropout", model.dropout, rule)
    kernel, kernels = runtime.optimizer_kernel, KERNELS.get(training.optimizer)
    if kernels is not None and kernel is not None and kernel not in kernels:
        rule = f"optimizer = {training.optimizer!r} has {' or '.join(kernels)} only"
        refuse("optimizer_kernel", kernel, rule)
    tokens = training.seq_len * training.batch_size
    if runtime.loss_chunk is not None and runtime.loss_chunk > tokens:
        refuse("loss_chunk", runtime.loss_chunk, f"a micro-batch has {tokens} rows")
    if training.fine_tuning != "scratch" and model.architecture not in ("gpt", "llama"):
        rule = f"not with architecture = {model.architecture!r}: gpt or llama is needed"
        refuse("fine_tuning", training.fine_tuning, rule)
    if training.fine_tuning == "head" and model.tied:
        refuse("tied", True, "fine_tuning = 'head' trains a head of its own: False is needed")
    if training.fine_tuning == "head" and training.activation_checkpointing:
        rule = "fine_tuning = 'head' has no block in its backward pass to compute again"
        refuse("activation_checkpointing", True, rule)
    if training.objective == "forward":
        for name, only in (("grad_accum", 1), ("fine_tuning", "scratch")):
            if getattr(training, name) != only:
                refuse(name, getattr(training, name), "objective = 'forward' trains nothing")
        if training.activation_checkpointing:
            refuse("activation_checkpointing", True, "objective = 'forward' has no backward pass")
    if model.architecture == "lstm" and training.activation_checkpointing:
        refuse("activation_checkpointing", True, "not with architecture = 'lstm'")


def _compile(runtime: Runtime) -> None:
    if runtime.compile in (None, *KEEPS_CODE):
        return
    if not runtime.fusion:
        refuse("fusion", runtime.fusion, f"only compile = {WITH_CODE} fuses")
    if runtime.jit_state != "steady":
        refuse("jit_state", runtime.jit_state, f"only compile = {WITH_CODE} keeps compiled code")


def _precision(model: Model, training: Training, runtime: Runtime, system: System) -> None:
    if training.precision == "q8_torchao" and system.instruction_set != "native":
        rule = "precision = 'q8_torchao' adds wrongly without VNNI, which only native has"
        refuse("instruction_set", system.instruction_set, rule)
    if training.precision == "q8_torchao" and runtime.compile not in ("eager", None):
        rule = "precision = 'q8_torchao' cannot be captured as one graph: 'eager' is needed"
        refuse("compile", runtime.compile, rule)
    if training.precision != "q4":
        return
    inputs = {"n_embd": model.n_embd}  # of layers; other architectures' are checked when built
    if model.architecture in WITH_ATTENTION:
        inputs["n_head x head_dim"] = model.n_head * model.d_head
        experts = EXPERTS if model.architecture == "moe" else 1
        inputs["hidden width of mlp_ratio and activation"] = model.hidden // experts
    for name, count in inputs.items():
        if count % GROUP:
            refuse(name, count, f"precision = 'q4' has groups of {GROUP}: it does not divide")
