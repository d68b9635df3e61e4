"""Which code does the work."""

from cputrain import suite


class AttentionBackend(suite.Suite):
    """Causal attention as one fused kernel (sdpa) or as matmul, mask, softmax, matmul (manual)."""

    values = ("sdpa", "manual")

    def vary(self, base, value):
        return base.but(attention_backend=value)


class TorchCompile(suite.Suite):
    """torch.compile: not used, graph captured but not fused (aot_eager), fused C++ (inductor)."""

    values = ("eager", "aot_eager", "inductor")

    def vary(self, base, value):
        return base.but(compile=value)


class Framework(suite.Suite):
    """The library that trains; numpy is our own reference, without fused attention."""

    values = ("torch", "numpy")
    name = "engine"

    def vary(self, base, value):
        return base.but(engine=value, attention_backend="manual" if value == "numpy" else "sdpa")
