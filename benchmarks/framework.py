"""Which code does the work."""

from cputrain.run import suite


class Framework(suite.Suite):
    """What trains, each with its fastest attention: by hand but in torch and ipex, which fuse it.

    numpy is our reference, native our own C.
    """

    values = ("torch", "jax", "numpy", "native", "ipex")
    name = "engine"

    def vary(self, base, value):
        by_hand = value in ("jax", "numpy", "native")
        return base.but(
            engine=value,
            attention_backend="manual" if by_hand else "sdpa",
        )


class FrameworkLarger(Framework):
    """What trains, at 6 layers of width 512, 512 tokens and a vocabulary of 8 000."""

    @classmethod
    def base(cls):
        larger = {"n_layer": 6, "n_embd": 512, "n_head": 8, "seq_len": 512, "vocab_size": 8000}
        return super().base().but(**larger)


class TorchCompile(suite.Suite):
    """torch.compile: not used, graph captured but not fused (aot_eager), fused C++ (inductor)."""

    values = ("eager", "aot_eager", "inductor")

    def vary(self, base, value):
        return base.but(compile=value)


class KernelFusion(suite.Suite):
    """Whether inductor fuses operations into one loop, or writes each to memory; 2 layers."""

    values = ("on", "off")
    name = "fusion"

    @classmethod
    def base(cls):
        return super().base().but(compile="inductor", n_layer=2)  # compiled twice as fast

    def vary(self, base, value):
        return base.but(fusion=value == "on")


class JitWarmup(suite.Suite):
    """A compiled model's first step from a cold and a warm cache; a steady step; 2 layers."""

    values = ("steady", "cold", "warm")
    name = "jit_state"
    rounds = 1  # half a minute each

    @classmethod
    def base(cls):
        return super().base().but(compile="inductor", n_layer=2, samples=1)

    def vary(self, base, value):
        return base if value == "steady" else base.but(jit_state=value, steps=1)


class AttentionBackend(suite.Suite):
    """Causal attention as one fused kernel (sdpa) or as matmul, mask, softmax, matmul (manual)."""

    values = ("sdpa", "manual")

    def vary(self, base, value):
        return base.but(attention_backend=value)


class OptimizerKernel(suite.Suite):
    """AdamW tensor by tensor (default), over lists of tensors (foreach), or in one kernel."""

    values = ("default", "foreach", "fused")

    def vary(self, base, value):
        return base.but(optimizer_kernel=value)


class LossChunk(suite.Suite):
    """Rows of logits that exist at a time, of 2 048 with a vocabulary of 16 000."""

    values = ("whole", 64, 256, 1024)

    @classmethod
    def base(cls):
        return super().base().but(vocab_size=16_000, seq_len=512, batch_size=4)

    def vary(self, base, value):
        return base.but(loss_chunk=None if value == "whole" else value)
