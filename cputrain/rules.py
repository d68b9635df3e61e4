"""What the fields of an experiment mean together: combinations that cannot be, each with its rule.

Nothing is ever adjusted to fit: what does not is refused, naming the fields.
"""

from __future__ import annotations

from cputrain.fields import refuse
from cputrain.parts import Budget, Model, Runtime, Training

BYTES = 257
"""Ids of the byte vocabulary: 256 bytes and end of text."""
PATHS = 45
"""Ids of the made paths."""
WITH_ATTENTION = ("gpt", "llama", "bert", "moe")


def check(model: Model, training: Training, runtime: Runtime, budget: Budget) -> None:
    """Raise ExperimentError for the first rule that the parts break together."""
    _architecture(model)
    _window(model, training, runtime)
    _data(model, training)
    _training(model, training, runtime)
    _compile(runtime)
    if budget.micro_batches is not None and budget.micro_batches > training.grad_accum:
        refuse("micro_batches", budget.micro_batches, f"grad_accum = {training.grad_accum} is all")
    if runtime.engine == "numpy":
        _numpy(model, training, runtime)


def _architecture(model: Model) -> None:
    if model.architecture not in WITH_ATTENTION:
        for name, only in (("n_kv_head", None), ("head_dim", None), ("attention", "full")):
            if getattr(model, name) != only:
                value = getattr(model, name)
                refuse(name, value, f"architecture = {model.architecture!r} has no attention")
    if model.architecture == "llama" and model.d_head % 2:
        refuse("head_dim", model.d_head, "rotary positions turn pairs: an even number is needed")


def _window(model: Model, training: Training, runtime: Runtime) -> None:
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
    if training.optimizer in ("lion", "adafactor") and runtime.optimizer_kernel == "fused":
        refuse("optimizer_kernel", "fused", f"optimizer = {training.optimizer!r} has none")
    if training.optimizer == "lion" and runtime.optimizer_kernel == "foreach":
        refuse("optimizer_kernel", "foreach", "optimizer = 'lion' has none")
    tokens = training.seq_len * training.batch_size
    if runtime.loss_chunk is not None and runtime.loss_chunk > tokens:
        refuse("loss_chunk", runtime.loss_chunk, f"a micro-batch has {tokens} rows")
    if training.fine_tuning != "scratch" and model.architecture not in ("gpt", "llama"):
        rule = f"not with architecture = {model.architecture!r}: gpt or llama is needed"
        refuse("fine_tuning", training.fine_tuning, rule)
    if training.fine_tuning == "head" and model.tied:
        refuse("tied", True, "fine_tuning = 'head' trains a head of its own: False is needed")
    if training.objective == "forward":
        for name, only in (("grad_accum", 1), ("fine_tuning", "scratch")):
            if getattr(training, name) != only:
                refuse(name, getattr(training, name), "objective = 'forward' trains nothing")
        if training.activation_checkpointing:
            refuse("activation_checkpointing", True, "objective = 'forward' has no backward pass")
    if model.architecture == "lstm" and training.activation_checkpointing:
        refuse("activation_checkpointing", True, "not with architecture = 'lstm'")


def _compile(runtime: Runtime) -> None:
    if not runtime.fusion and runtime.compile != "inductor":
        refuse("fusion", runtime.fusion, "only compile = 'inductor' fuses")
    if runtime.jit_state != "steady" and runtime.compile != "inductor":
        refuse("jit_state", runtime.jit_state, "only compile = 'inductor' keeps compiled code")


def _numpy(model: Model, training: Training, runtime: Runtime) -> None:
    """What the reference leaves out; torch has it all."""
    only: dict[str, tuple[object, ...]] = {
        "architecture": ("gpt",),
        "dropout": (0.0,),
        "objective": ("causal",),
        "precision": ("fp32",),
        "optimizer": ("adamw",),
        "activation_checkpointing": (False,),
        "fine_tuning": ("scratch",),
        "attention_backend": ("manual",),
        "compile": ("eager",),
        "loss_chunk": (None,),
    }
    for part in (model, training, runtime):
        for name, allowed in only.items():
            if hasattr(part, name) and getattr(part, name) not in allowed:
                rule = f"the numpy engine has {' or '.join(map(str, allowed))} only"
                refuse(name, getattr(part, name), rule)
