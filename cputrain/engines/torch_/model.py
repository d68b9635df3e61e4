"""Every architecture as one torch module: embeddings, blocks, heads and the loss.

Its parameters carry the names and shapes of `model.shapes`.
"""

from __future__ import annotations

import functools
import importlib
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from cputrain.engines import EngineError
from cputrain.engines.torch_ import layers
from cputrain.engines.torch_.loss import cross_entropy
from cputrain.experiment import Experiment
from cputrain.model.shapes import weight_shapes

BLOCKS = {
    "gpt": "transformer",
    "llama": "transformer",
    "bert": "transformer",
    "lstm": "lstm",
    "gmlp": "gmlp",
    "ssm": "ssm",
    "moe": "moe",
}
"""Architecture -> file of this package whose `Block(experiment)` it stacks."""


class Head(nn.Module):  # type: ignore[misc]
    """A table of its own, `weight` [vocab_size, n_embd], for a head that is not tied."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        model = experiment.model
        self.weight = nn.Parameter(torch.empty(model.vocab_size, model.n_embd))


class Mlm(nn.Module):  # type: ignore[misc]
    """What BERT has before its table: a layer, GELU and a norm; and the table's `bias` [V].

    As in the released code of Devlin et al. 2019 (run_pretraining.py, get_masked_lm_output).
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        model = experiment.model
        self.dense = nn.Linear(model.n_embd, model.n_embd)
        self.ln_1 = layers.norm(experiment)
        self.bias = nn.Parameter(torch.empty(model.vocab_size))

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]; what uses the table adds the bias."""
        return cast(Tensor, self.ln_1(F.gelu(self.dense(x))))


class LanguageModel(nn.Module):  # type: ignore[misc]
    """A language model and its loss. In training mode it drops out, in evaluation it does not.

    Which embeddings, norms and heads there are is read from `weight_shapes`.
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        model, training = experiment.model, experiment.training
        shapes = weight_shapes(experiment)
        self.wte = nn.Parameter(torch.empty(shapes["wte"]))
        self.wpe = nn.Parameter(torch.empty(shapes["wpe"])) if "wpe" in shapes else None
        self.relation = (
            nn.Parameter(torch.empty(shapes["relation"])) if "relation" in shapes else None
        )
        self.ln_emb = layers.norm(experiment) if "ln_emb.weight" in shapes else None
        self.drop = layers.dropout(experiment)
        self.h = nn.ModuleList(make_block(experiment) for _ in range(model.n_layer))
        self.ln_f = layers.norm(experiment) if "ln_f.weight" in shapes else None
        self.mlm = Mlm(experiment) if "mlm.bias" in shapes else None
        self.head = None if model.tied else Head(experiment)
        self.node_head = Head(experiment) if "node_head.weight" in shapes else None
        self.has_experts = model.architecture == "moe"
        self.checkpointed = training.activation_checkpointing
        self.loss_chunk = experiment.runtime.loss_chunk

    def forward(
        self,
        inputs: Tensor,
        targets: Tensor,
        relations: Tensor | None = None,
        node_targets: Tensor | None = None,
        node_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch (see `data.batches.Batch`), all int64 [B, T]; a scalar in nats.

        Mean cross-entropy over the targets that are not IGNORE. With masked nodes, the node
        head's mean over its own targets is added, `node_weight` times if that is given. With
        experts, the gradient has a share that balances them (see `moe.balance`) in training.

        Raises:
            EngineError: relations or node_targets are missing, or not this objective's.
        """
        for name, given in (("relations", relations), ("node_targets", node_targets)):
            if (given is None) != (self.relation is None):
                fault = "missing" if given is None else "given, though it has no masked nodes"
                raise EngineError(f"the batch's {name} are {fault}: objective = 'masked_node' only")
        x, balances = self._states(inputs, relations)
        loss = self.loss_of(x, targets, node_targets, node_weight)
        for balance in balances:
            # Its gradient joins in, its value does not: the loss stays the cross-entropy.
            loss = loss + (balance - balance.detach())
        return loss

    def loss_of(
        self,
        x: Tensor,
        targets: Tensor,
        node_targets: Tensor | None,
        node_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of final hidden states [B, T, C], without the balance of experts."""
        loss = cross_entropy(*self.head_input(x), targets, self.loss_chunk)
        if self.node_head is not None and node_targets is not None:
            table = self.node_head.weight
            of_nodes = cross_entropy(x, table, None, node_targets, self.loss_chunk)
            loss = loss + (of_nodes if node_weight is None else of_nodes * node_weight)
        return loss

    def head_input(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """What the token head multiplies: its states [B, T, C], weight and bias."""
        return (x if self.mlm is None else self.mlm(x)), *self._table()

    def hidden(self, inputs: Tensor, relations: Tensor | None = None) -> Tensor:
        """Final hidden states [B, T, C], which the heads read."""
        return self._states(inputs, relations)[0]

    def logits(self, x: Tensor) -> Tensor:
        """Of the token head, from final hidden states: [..., C] -> [..., vocab_size]."""
        return F.linear(x if self.mlm is None else self.mlm(x), *self._table())

    def _states(self, inputs: Tensor, relations: Tensor | None) -> tuple[Tensor, list[Tensor]]:
        """Final hidden states, and the balance loss of each block that has experts."""
        x = F.embedding(inputs, self.wte)
        if self.relation is not None and relations is not None:
            # A row of zeros before the relations, for places where a token stands.
            x = x + F.embedding(relations, F.pad(self.relation, (0, 0, 1, 0)))
        if self.wpe is not None:
            x = x + self.wpe
        if self.ln_emb is not None:
            x = self.ln_emb(x)
        x = self.drop(x)
        balances = []
        for block in self.h:
            run = functools.partial(self._block, block)
            # Dropout repeats itself when a block is computed again: its generator's state is kept.
            x, balance = (
                checkpoint(run, x, use_reentrant=False, preserve_rng_state=True)
                if self.checkpointed
                else run(x)
            )
            if balance is not None:
                balances.append(balance)
        return (x if self.ln_f is None else self.ln_f(x)), balances

    def _block(self, block: nn.Module, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """What a block gives, and the balance loss that it leaves behind, if it has experts."""
        if not self.has_experts:
            return block(x), None
        try:
            return block(x), block.mlp.auxiliary
        finally:  # also where computing again stops early, at the last tensor that is needed
            block.mlp.auxiliary = None

    def _table(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias of the head."""
        weight = self.wte if self.head is None else self.head.weight
        return weight, None if self.mlm is None else self.mlm.bias


def make_block(experiment: Experiment) -> nn.Module:
    """One block [B, T, C] -> [B, T, C], its norms, residuals and their dropout included.

    Only the file of this architecture is imported.
    """
    name = BLOCKS[experiment.model.architecture]
    block: nn.Module = importlib.import_module(f"cputrain.engines.torch_.{name}").Block(experiment)
    return block


def build(experiment: Experiment) -> nn.Module:
    """The module of this experiment, without weights of any use: they are put in afterwards.

    It may be built on the meta device; buffers are on the CPU all the same.
    """
    return LanguageModel(experiment)
