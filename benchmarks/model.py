"""The model's shape and what one training step sees."""

from cputrain import suite


class SeqLen(suite.Suite):
    """Tokens in one training sequence."""

    values = (128, 256, 512, 1024, 2048)

    def vary(self, base, value):
        return base.but(seq_len=value)


class BatchSize(suite.Suite):
    """Sequences in one optimizer step."""

    values = (1, 2, 4, 8, 16, 32, 64)

    def vary(self, base, value):
        return base.but(batch_size=value)


class Depth(suite.Suite):
    """Transformer blocks, one after the other."""

    values = (2, 4, 8, 16, 32)

    def vary(self, base, value):
        return base.but(n_layer=value)


class Width(suite.Suite):
    """Channels of the residual stream, 64 to each attention head."""

    values = (128, 256, 512, 1024, 2048)
    name = "n_embd"

    def vary(self, base, value):
        return base.but(n_embd=value, n_head=value // 64)
