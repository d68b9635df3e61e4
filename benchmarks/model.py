"""The model's kind and shape."""

from cputrain.experiment.activations import ACTIVATIONS
from cputrain.run import suite

SIZES = {
    "0.1M": (3, 48),
    "1M": (5, 128),
    "5M": (6, 256),
    "25M": (8, 512),
    "117M": (12, 896),
}
"""n_layer and n_embd by parameter count."""


class ModelSize(suite.Suite):
    """Parameters of the model: presets of depth and width together."""

    values = tuple(SIZES)

    @classmethod
    def base(cls):
        return cls.of(super().base(), "1M")

    @classmethod
    def of(cls, experiment, size):
        n_layer, n_embd = SIZES[size]
        return experiment.but(n_layer=n_layer, n_embd=n_embd, n_head=max(1, n_embd // 64))

    def vary(self, base, value):
        return self.of(base, value)


class Architecture(suite.Suite):
    """The kind of block, at near-equal parameter counts; bert predicts masked tokens."""

    values = ("gpt", "llama", "bert", "lstm", "gmlp", "ssm", "moe")

    def vary(self, base, value):
        if value == "bert":
            return base.but(architecture=value, objective="masked", vocab_size=258)
        return base.but(architecture=value, activation="swiglu" if value == "llama" else "gelu")


class Depth(suite.Suite):
    """Transformer blocks, one after the other."""

    values = (2, 4, 8, 16, 32)
    engines = {"jax": (4, 8)}
    version = "3"

    def vary(self, base, value):
        return base.but(n_layer=value)


class Width(suite.Suite):
    """Channels of the residual stream, 64 to each attention head; learning rate over width."""

    values = (128, 256, 512, 1024, 2048)
    engines = {"jax": (256, 512), "native": (256, 512)}
    name = "n_embd"
    version = "3"
    quick = (128, 512)

    def vary(self, base, value):
        # At one rate for all, the widest model's loss grows in its first steps.
        rate = base.training.learning_rate * base.model.n_embd / value
        return base.but(n_embd=value, n_head=value // 64, learning_rate=rate)


class Heads(suite.Suite):
    """Attention heads that share one width between them: more heads have fewer channels each."""

    values = (2, 4, 8, 16)
    version = "4"

    def vary(self, base, value):
        return base.but(n_head=value)


class HeadDim(suite.Suite):
    """Channels of each attention head, as many heads as ever: the attention gets wider."""

    values = (32, 64, 128)

    @classmethod
    def base(cls):
        return super().base().but(head_dim=64)

    def vary(self, base, value):
        return base.but(head_dim=value)


class MlpRatio(suite.Suite):
    """Hidden width of the MLP over the width of the model."""

    values = (2, 3, 4)
    version = "4"

    def vary(self, base, value):
        return base.but(mlp_ratio=value)


class Activation(suite.Suite):
    """The MLP's activation; a gated one has two thirds of the hidden width, so as many weights."""

    values = tuple(ACTIVATIONS)
    version = "4"

    def vary(self, base, value):
        return base.but(activation=value)


class AttentionVariant(suite.Suite):
    """What a token sees of 1 024: all before it, its own block (local), the last ones (sliding)."""

    values = ("full", "local 128", "sliding 128", "sliding 512")
    version = "4"

    @classmethod
    def base(cls):
        return super().base().but(seq_len=1024)

    def vary(self, base, value):
        kind, _, window = value.partition(" ")
        return base.but(attention=kind, window=int(window) if window else None)


class KvHeads(suite.Suite):
    """Heads of keys and values that 8 heads of queries share (grouped-query attention)."""

    values = (8, 4, 1)

    @classmethod
    def base(cls):
        return super().base().but(n_head=8, n_kv_head=8)

    def vary(self, base, value):
        return base.but(n_kv_head=value)


class VocabSize(suite.Suite):
    """Rows of the embedding and of the logits; 257 is bytes, more are byte-pair merges."""

    values = (257, 1_000, 8_000, 32_000, 50_000)
    engines = {"jax": (257, 8_000), "native": (257, 8_000)}
    quick = (8_000,)
    version = "3"

    def vary(self, base, value):
        return base.but(vocab_size=value)
