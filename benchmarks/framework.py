"""Which code does the work."""

from cputrain.run import suite


class Framework(suite.Suite):
    """What trains, each with its fastest attention: by hand but in torch and ipex, which fuse it.

    numpy is our reference, native our own C.
    """

    values = ("torch", "jax", "numpy", "native", "ipex")
    name = "engine"
    quick = ("jax", "native")

    def vary(self, base, value):
        return base.but(engine=value, attention_backend="manual" if value == "jax" else None)


class FrameworkLarger(Framework):
    """What trains, at 6 layers of width 512, 512 tokens and a vocabulary of 8 000."""

    quick = ()

    @classmethod
    def base(cls):
        larger = {"n_layer": 6, "n_embd": 512, "n_head": 8, "seq_len": 512, "vocab_size": 8000}
        return super().base().but(**larger)


class TorchCompile(suite.Suite):
    """torch.compile: not used, graph captured but not fused (aot_eager), fused C++ (inductor)."""

    values = ("eager", "aot_eager", "inductor")

    def vary(self, base, value):
        return base.but(compile=value)


def _compiled(base):
    """What compiles: XLA always, torch by inductor, which takes twice as long for 4 layers."""
    if base.runtime.engine == "torch":
        return base.but(compile="inductor", n_layer=2)
    return base


class KernelFusion(suite.Suite):
    """Whether the compiler fuses operations into one loop, or writes each to memory.

    torch has inductor and 2 layers, jax XLA and 4.
    """

    values = ("on", "off")
    engines = {"jax": values}
    name = "fusion"
    version = "3"

    @classmethod
    def base_on(cls, engine):
        return _compiled(super().base_on(engine))

    def vary(self, base, value):
        return base.but(fusion=value == "on")


class JitWarmup(suite.Suite):
    """The first step from a cold and a warm cache of compiled code; a steady step.

    torch has inductor and 2 layers, jax XLA and 4.
    """

    values = ("cold", "warm", "steady")  # each finds what the one before has compiled
    engines = {"jax": values}
    name = "jit_state"
    version = "5"

    @classmethod
    def base_on(cls, engine):
        return _compiled(super().base_on(engine))

    def vary(self, base, value):
        return base if value == "steady" else base.but(jit_state=value, steps=1)


class AttentionBackend(suite.Suite):
    """Causal attention as matmul, mask, softmax, matmul (manual), or the engine's own (sdpa).

    torch's own is one fused kernel, jax's is jax.nn.dot_product_attention.
    """

    values = ("sdpa", "manual")
    engines = {"jax": values}
    version = "3"
    quick = ("manual",)

    def vary(self, base, value):
        return base.but(attention_backend=value)


class OptimizerKernel(suite.Suite):
    """AdamW tensor by tensor (default), over lists of tensors (foreach), or in one kernel."""

    values = ("default", "foreach", "fused")
    quick = ("default",)

    def vary(self, base, value):
        return base.but(optimizer_kernel=value)


class LossChunk(suite.Suite):
    """Rows of logits that exist at a time, of 1 024 with a vocabulary of 16 000."""

    values = ("whole", 64, 256)
    version = "3"

    @classmethod
    def base(cls):
        return super().base().but(vocab_size=16_000, seq_len=512, batch_size=2)

    def vary(self, base, value):
        return base.but(loss_chunk=None if value == "whole" else value)
