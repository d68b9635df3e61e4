"""What one optimizer step does."""

from cputrain.experiment.parts import PRECISIONS
from cputrain.run import suite


class SeqLen(suite.Suite):
    """Tokens in one training sequence."""

    values = (128, 256, 512, 1024, 2048)
    engines = {"jax": (256, 1024), "native": (256, 1024)}
    version = "3"
    quick = (512,)

    def vary(self, base, value):
        return base.but(seq_len=value)


class BatchSize(suite.Suite):
    """Sequences in one optimizer step."""

    values = (1, 4, 8, 16, 32, 64)
    engines = {"jax": (1, 8), "native": (1, 8)}
    version = "3"
    quick = (1, 16)

    def vary(self, base, value):
        return base.but(batch_size=value)


class GradAccumulation(suite.Suite):
    """Micro-batches that 16 sequences of 128 tokens are split into before one optimizer step."""

    values = (1, 2, 4, 8, 16)
    engines = {"native": (1, 16)}
    name = "grad_accum"
    version = "4"

    @classmethod
    def base(cls):
        return super().base().but(batch_size=16, seq_len=128)

    def vary(self, base, value):
        return base.but(grad_accum=value, batch_size=16 // value)


class ActivationCheckpointing(suite.Suite):
    """Whether blocks are computed again in the backward pass instead of kept."""

    values = ("off", "on")
    engines = {"jax": values}
    name = "activation_checkpointing"
    version = "3"

    def vary(self, base, value):
        return base.but(activation_checkpointing=value == "on")


class Dropout(suite.Suite):
    """Share dropped of embeddings, attention weights and residual branches; manual attention."""

    values = (0.0, 0.1)
    version = "4"

    @classmethod
    def base(cls):
        return super().base().but(attention_backend="manual")

    def vary(self, base, value):
        return base.but(dropout=value)


class Precision(suite.Suite):
    """Number formats; q8 has weights of 7 bits, q4 and bitnet are simulated in fp32."""

    values = PRECISIONS
    engines = {"jax": ("fp32", "bf16")}
    version = "3"
    quick = ("bf16",)

    def vary(self, base, value):
        return base.but(precision=value)


class Optimizer(suite.Suite):
    """The update rule, each with the fastest kernel that it has."""

    values = ("adamw", "sgd", "lion", "adafactor")
    name = "optimizer"
    version = "4"

    def vary(self, base, value):
        if value == "sgd":
            return base.but(optimizer=value, learning_rate=0.01)
        if value == "lion":
            return base.but(optimizer=value, learning_rate=1e-4, optimizer_kernel="default")
        if value == "adafactor":
            return base.but(optimizer=value, learning_rate=1e-2, optimizer_kernel="foreach")
        return base


class FineTuning(suite.Suite):
    """Training from scratch; going on from that model in full, its head alone, or by LoRA."""

    values = ("scratch", "full", "head", "lora")

    def vary(self, base, value):
        return base.but(fine_tuning=value, tied=value != "head")
