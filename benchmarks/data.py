"""What is trained on and how it gets there."""

from cputrain.run import suite


class DatasetSize(suite.Suite):
    """Rows of the corpus; an epoch and preparing them take longer, a step should not."""

    values = (100, 1000, "all")

    def vary(self, base, value):
        return base.but(rows=None if value == "all" else value)


class LoaderWorkers(suite.Suite):
    """Batches made beforehand (memory), or streamed by the training thread (0) or others."""

    values = ("memory", 0, 1, 2)

    @classmethod
    def base(cls):
        return super().base().but(vocab_size=8_000)

    def vary(self, base, value):
        if value == "memory":
            return base
        return base.but(loader="stream", loader_workers=value)


class LoaderQueue(suite.Suite):
    """Batches that one streaming worker may be ahead of training."""

    values = (1, 8)

    @classmethod
    def base(cls):
        return super().base().but(vocab_size=8_000, loader="stream", loader_workers=1)

    def vary(self, base, value):
        return base.but(loader_queue=value)


class SequencePacking(suite.Suite):
    """Sequences cut from one stream (packed), or one document each, filled up (padded)."""

    values = ("packed", "padded")

    def vary(self, base, value):
        return base.but(packing=value)
