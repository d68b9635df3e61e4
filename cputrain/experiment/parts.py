"""The model and its training: two parts of an experiment, and what each of their fields may be.

Standard library only. `runtime`, `system` and `budget` have the other parts. What a field means
together with others is in `rules`.
"""

from __future__ import annotations

from dataclasses import dataclass

from cputrain.experiment.activations import ACTIVATIONS, is_gated
from cputrain.experiment.fields import flag, one_of, real, refuse, whole, whole_or_none

ARCHITECTURES = ("gpt", "llama", "bert", "lstm", "gmlp", "ssm", "moe")
ATTENTION = ("full", "local", "sliding")
OBJECTIVES = ("causal", "masked", "masked_node", "forward")
PRECISIONS = ("fp32", "bf16", "mixed", "q8", "q8_torchao", "q4", "bitnet", "bitnet_torchao")
SIMULATED = {
    "q4": "simulated: weights on 16 levels, products in fp32",
    "bitnet": "simulated: ternary weights and 8-bit activations, products in fp32",
}
"""By precision: what is rounded without the arithmetic that would profit from it."""
OPTIMIZERS = ("adamw", "sgd", "lion", "adafactor")
FINE_TUNING = ("scratch", "full", "head", "lora")

MOST = {
    "n_layer": 10_000,
    "n_embd": 100_000,
    "n_head": 10_000,
    "head_dim": 100_000,
    "mlp_ratio": 1_000,
    "vocab_size": 10_000_000,
    "seq_len": 10_000_000,
    "batch_size": 10_000_000,
    "grad_accum": 10_000_000,
    "loader_workers": 1_000,
    "loader_queue": 1_000_000,
    "lr_warmup_steps": 10**9,  # as many as a run may have
    "rows": 2**53 - 1,
    "seed": 2**53 - 1,
}
"""The most that a number may be, far beyond what any CPU trains: what is larger is a slip.

Records hold no whole number above 2**53.
"""


@dataclass(frozen=True, kw_only=True)
class Model:
    """What is trained; the default is a GPT decoder: pre-norm, learned positions, tied head.

    Attributes:
        architecture: gpt; llama (RMSNorm, rotary positions, no biases); bert (bidirectional,
            post-norm); lstm; gmlp; ssm (Mamba-2's scan); moe (gpt, top 2 of 4 experts).
        n_layer: number of blocks.
        n_embd: width of the residual stream.
        n_head: attention heads.
        n_kv_head: heads of keys and values; None is n_head.
        head_dim: channels of a head; None is n_embd / n_head.
        mlp_ratio: hidden width of the MLP over n_embd; see `hidden`.
        activation: of the MLP.
        dropout: share of what embedding, attention and residual branches give that is dropped.
        attention: full; local (blocks of `window` tokens that see themselves alone);
            sliding (each token sees itself and the `window` - 1 before it).
        window: tokens; None with full attention.
        vocab_size: rows of the embedding; 257 is the byte vocabulary.
        tied: the head is the token embedding (Press & Wolf 2017).
    """

    architecture: str = "gpt"
    n_layer: int = 4
    n_embd: int = 256
    n_head: int = 4
    n_kv_head: int | None = None
    head_dim: int | None = None
    mlp_ratio: int = 4
    activation: str = "gelu"
    dropout: float = 0.0
    attention: str = "full"
    window: int | None = None
    vocab_size: int = 257
    tied: bool = True

    def __post_init__(self) -> None:
        one_of(self, "architecture", ARCHITECTURES)
        for name in ("n_layer", "n_embd", "n_head", "mlp_ratio"):
            whole(self, name, 1, MOST[name])
        for name in ("n_kv_head", "head_dim", "window"):
            whole_or_none(self, name, MOST.get(name))
        one_of(self, "activation", tuple(ACTIVATIONS))
        real(self, "dropout", 0.0, 0.9)
        one_of(self, "attention", ATTENTION)
        whole(self, "vocab_size", 2, MOST["vocab_size"])
        flag(self, "tied")
        if self.head_dim is None and self.n_embd % self.n_head:
            refuse("n_head", self.n_head, f"n_embd = {self.n_embd} does not divide by it")
        if self.n_head % self.kv_heads:
            refuse("n_kv_head", self.n_kv_head, f"n_head = {self.n_head} does not divide by it")

    @property
    def d_head(self) -> int:
        """Channels of a head."""
        return self.head_dim or self.n_embd // self.n_head

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.n_kv_head or self.n_head

    @property
    def hidden(self) -> int:
        """Hidden width of the MLP: mlp_ratio x n_embd.

        A gated activation has three matrices instead of two, so it gets two thirds of that,
        rounded up to a multiple of 8, and the parameters stay as many (Shazeer 2020, sec. 3).
        """
        hidden = self.mlp_ratio * self.n_embd
        return -(-2 * hidden // 24) * 8 if is_gated(self.activation) else hidden


@dataclass(frozen=True, kw_only=True)
class Training:
    """What one optimizer step does.

    Attributes:
        objective: causal (the next token); masked (BERT's masked tokens); masked_node (those,
            and masked nodes that stand in one of 12 relations to tokens); forward (no training:
            a step is one forward pass).
        dataset: text (the corpus) or paths (made walks of 10 to 20 tokens on a graph).
        packing: packed (sequences are cut from one stream) or padded (one document each).
        seq_len: tokens in one training sequence.
        batch_size: sequences in one micro-batch.
        grad_accum: micro-batches in one optimizer step.
        precision: fp32; bf16 (weights too); mixed (autocast over fp32 weights); q8, q4, bitnet
            (own straight-through training) and torchao's q8_torchao, bitnet_torchao.
        optimizer: adamw (Loshchilov & Hutter 2019, alg. 2), sgd, lion or adafactor.
        learning_rate: constant, after lr_warmup_steps steps of linear growth.
        beta1, beta2, eps, weight_decay: the optimizer's, where it has them; decay acts on
            every parameter alike.
        activation_checkpointing: blocks are computed again in the backward pass.
        rows: rows of the corpus that are trained on; None is all of them.
        loader: memory (batches are made before the clock starts) or stream (read, tokenized,
            packed and queued while training; waiting for them is in the step time).
        loader_workers: threads of a streaming loader; 0 is none beside the training thread.
        loader_queue: batches that a streaming loader may be ahead.
        fine_tuning: scratch; full, head or lora start from a saved model of this machine.
        seed: draws the initial weights and the order of the batches.
    """

    objective: str = "causal"
    dataset: str = "text"
    packing: str = "packed"
    seq_len: int = 256
    batch_size: int = 1
    grad_accum: int = 1
    precision: str = "fp32"
    optimizer: str = "adamw"
    learning_rate: float = 3e-4
    lr_warmup_steps: int = 0
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1
    activation_checkpointing: bool = False
    rows: int | None = 1000
    loader: str = "memory"
    loader_workers: int = 0
    loader_queue: int = 8
    fine_tuning: str = "scratch"
    seed: int = 0

    def __post_init__(self) -> None:
        one_of(self, "objective", OBJECTIVES)
        one_of(self, "dataset", ("text", "paths"))
        one_of(self, "packing", ("packed", "padded"))
        one_of(self, "precision", PRECISIONS)
        one_of(self, "optimizer", OPTIMIZERS)
        one_of(self, "loader", ("memory", "stream"))
        one_of(self, "fine_tuning", FINE_TUNING)
        for name in ("seq_len", "batch_size", "grad_accum", "loader_queue"):
            whole(self, name, 1, MOST[name])
        whole_or_none(self, "rows", MOST["rows"])
        for name in ("seed", "lr_warmup_steps", "loader_workers"):
            whole(self, name, 0, MOST[name])
        flag(self, "activation_checkpointing")
        real(self, "learning_rate", 0.0, 10.0)
        real(self, "weight_decay", 0.0, 10.0)
        real(self, "beta1", 0.0, 0.9999999)
        real(self, "beta2", 0.0, 0.9999999)
        real(self, "eps", 1e-16, 1.0)

    @property
    def tokens_per_step(self) -> int:
        """Tokens computed in one optimizer step."""
        return self.seq_len * self.batch_size * self.grad_accum

    @property
    def is_masked(self) -> bool:
        """Whether masked tokens are predicted instead of next ones."""
        return self.objective in ("masked", "masked_node")
