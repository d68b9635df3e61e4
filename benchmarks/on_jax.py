"""The model and training variables on JAX: each suite's values, or some of them, once more."""

from benchmarks import framework, hardware, model, training
from cputrain.run import suite


class _Jax(suite.Suite):
    rounds = 1  # the variables are torch's suites' again

    @classmethod
    def base(cls):
        return super().base().but(engine="jax")


class JaxDepth(_Jax, model.Depth):
    """Transformer blocks, on JAX."""

    values = (2, 4, 16)


class JaxWidth(_Jax, model.Width):
    """Channels of the residual stream, 64 to each attention head, on JAX."""

    values = (128, 256, 1024)


class JaxHeads(_Jax, model.Heads):
    """Attention heads that share one width between them, on JAX."""

    values = (2, 4, 16)


class JaxMlpRatio(_Jax, model.MlpRatio):
    """Hidden width of the MLP over the width of the model, on JAX."""


class JaxActivation(_Jax, model.Activation):
    """The MLP's activation, on JAX."""

    values = ("gelu", "gelu_tanh", "relu", "swiglu")


class JaxAttentionVariant(_Jax, model.AttentionVariant):
    """What a token sees of 1 024: all before it, its own block, the last ones; on JAX."""

    values = ("full", "local 128", "local 512", "sliding 128", "sliding 512")
    name = "attention_variant"


class JaxKvHeads(_Jax, model.KvHeads):
    """Heads of keys and values that 8 heads of queries share, on JAX."""

    values = (8, 2, 1)


class JaxVocabSize(_Jax, model.VocabSize):
    """Rows of the embedding and of the logits, on JAX."""

    values = (257, 8_000, 50_000)


class JaxSeqLen(_Jax, training.SeqLen):
    """Tokens in one training sequence, on JAX."""

    values = (128, 256, 1024)


class JaxBatchSize(_Jax, training.BatchSize):
    """Sequences in one optimizer step, on JAX."""

    values = (1, 4, 16)


class JaxActivationCheckpointing(_Jax, training.ActivationCheckpointing):
    """Whether blocks are computed again in the backward pass instead of kept, on JAX."""


class JaxDropout(_Jax, training.Dropout):
    """Share dropped of embeddings, attention weights and residual branches, on JAX."""


class JaxPrecision(_Jax, training.Precision):
    """Numbers that weights and products are of, on JAX."""

    values = ("fp32", "bf16", "mixed")


class JaxOptimizer(_Jax, training.Optimizer):
    """What turns gradients into steps, from optax."""

    values = ("adamw", "sgd", "lion")


class JaxAttentionBackend(_Jax, framework.AttentionBackend):
    """Causal attention by jax.nn.dot_product_attention (sdpa) or by hand (manual)."""


class JaxInstructionSet(_Jax, hardware.InstructionSet):
    """The most that XLA's code may use of the CPU's vector instructions."""


class JaxKernelFusion(_Jax):
    """Whether XLA fuses operations into one loop, or writes each to memory."""

    values = ("on", "off")
    name = "fusion"

    def vary(self, base, value):
        return base.but(fusion=value == "on")


class JaxJitWarmup(_Jax):
    """JAX's first step from a cold and a warm cache of compiled code; a steady step."""

    values = ("steady", "cold", "warm")
    name = "jit_state"

    @classmethod
    def base(cls):
        return super().base().but(samples=1)

    def vary(self, base, value):
        return base if value == "steady" else base.but(jit_state=value, steps=1)
