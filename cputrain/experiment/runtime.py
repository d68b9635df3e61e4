"""The runtime part of an experiment: which code does the work, and how that code is made.

A field that may be None means by it what the engine does unless told otherwise, its plain way:
`engines.specs.settle` fills that in. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from cputrain.experiment.fields import flag, one_of, whole_or_none, word

COMPILE = ("eager", "aot_eager", "inductor", "xla")
ATTENTION_BACKENDS = ("sdpa", "manual")
OPTIMIZER_KERNELS = ("default", "foreach", "fused")
JIT_STATES = ("steady", "cold", "warm")
MATMUL_BACKENDS = ("default", "mkl", "onednn", "openblas")
CXX = ("default", "g++", "clang++")
CXX_LEVELS = ("default", "O0", "O1", "O2", "O3")
CC = ("gcc", "clang")
CC_LEVELS = ("O0", "O2", "O3", "Ofast")
CC_TARGETS = ("native", "generic")


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """Which code does the work.

    Attributes:
        engine: what trains, one of `engines.specs.NAMES`.
        compile: what compiles a training step, torch.compile's backend or xla; eager is nothing;
            None is the engine's plain way.
        fusion: whether inductor or XLA may fuse operations into one loop.
        jit_state: what is timed: steady steps, or the first step alone, which compiles, from a
            cold or a warm cache of compiled code.
        attention_backend: sdpa is torch's fused kernel, or jax.nn.dot_product_attention; manual
            is matmul, mask, softmax, matmul; None is the engine's plain way.
        optimizer_kernel: how torch's optimizer goes over the tensors, others have one way; None
            is the engine's plain way.
        loss_chunk: rows of logits that exist at a time; None is all of them.
        matmul_backend: the library that multiplies fp32 matrices (torch: of the blocks' linear
            layers; numpy, native: all); default is the one it comes with (torch on x86: MKL;
            NumPy: OpenBLAS; native: its own code).
        cxx: the compiler of inductor's C++; default is inductor's own choice.
        cxx_level: the level that it optimizes at; default is inductor's own, O3.
        cc: the compiler of the native engine.
        cc_level: the level that it optimizes at.
        cc_target: the processor that it writes for: native, this one (or what
            system.instruction_set leaves of it); generic, any of its family.
        lto: whether the native engine's files are optimized together when they are linked.
        auto_kernel_selection: whether ipex may choose oneDNN's kernels for fp32.
    """

    engine: str = "torch"
    compile: str | None = None
    fusion: bool = True
    jit_state: str = "steady"
    attention_backend: str | None = None
    optimizer_kernel: str | None = None
    loss_chunk: int | None = None
    matmul_backend: str = "default"
    cxx: str = "default"
    cxx_level: str = "default"
    cc: str = "gcc"
    cc_level: str = "Ofast"
    cc_target: str = "native"
    lto: bool = False
    auto_kernel_selection: bool = False

    def __post_init__(self) -> None:
        word(self, "engine")
        for name, allowed in NAMES.items():
            if name not in PLAIN or getattr(self, name) is not None:
                one_of(self, name, allowed)
        for name in ("fusion", "lto", "auto_kernel_selection"):
            flag(self, name)
        whole_or_none(self, "loss_chunk")


NAMES = {
    "compile": COMPILE,
    "jit_state": JIT_STATES,
    "attention_backend": ATTENTION_BACKENDS,
    "optimizer_kernel": OPTIMIZER_KERNELS,
    "matmul_backend": MATMUL_BACKENDS,
    "cxx": CXX,
    "cxx_level": CXX_LEVELS,
    "cc": CC,
    "cc_level": CC_LEVELS,
    "cc_target": CC_TARGETS,
}
"""Fields that are one of some names, and the names."""
PLAIN = ("compile", "attention_backend", "optimizer_kernel")
"""Fields that may be None: the engine's plain way."""
