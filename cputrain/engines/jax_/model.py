"""The GPT and its loss as a function of the weights."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from cputrain.data.batches import IGNORE
from cputrain.engines.jax_.attention import Attention
from cputrain.engines.jax_.layers import Parameters, activation, drop, linear, norm
from cputrain.engines.jax_.scopes import scope
from cputrain.experiment import Experiment
from cputrain.experiment.activations import is_gated


class Gpt:
    """The baseline's GPT decoder: pre-norm, learned positions, tied or untied head."""

    def __init__(self, experiment: Experiment) -> None:
        self._model, self._training = experiment.model, experiment.training
        self._attention = Attention(experiment)
        self._is_gated = is_gated(experiment.model.activation)
        mixed = experiment.training.precision == "mixed"
        self._products = jnp.bfloat16 if mixed else None

    def states(self, weights: Parameters, x: Array, key: Array | None) -> Array:
        """Final hidden states [B x T, C] from the embedded tokens [B, T, C].

        Args:
            key: of dropout's random numbers; None drops nothing.
        """
        model = self._model
        keys = None if key is None else jax.random.split(key, 1 + model.n_layer)
        with scope("embedding"):
            x = (x + weights["wpe"]).reshape(-1, model.n_embd)
            x = drop(x, model.dropout, None if keys is None else keys[0])
        run = self._block
        if self._training.activation_checkpointing:
            run = jax.checkpoint(run)
        for i in range(model.n_layer):
            prefix = f"h.{i}."
            own = {
                name.removeprefix(prefix): weight
                for name, weight in weights.items()
                if name.startswith(prefix)
            }
            # Or each norm's loop would add up all branches before it again.
            x = lax.optimization_barrier(x)
            x = run(own, x, None if keys is None else keys[1 + i])
        x = lax.optimization_barrier(x)
        return norm(x, weights["ln_f.weight"], weights["ln_f.bias"])

    def _block(self, own: Parameters, x: Array, key: Array | None) -> Array:
        keys = [None] * 3 if key is None else list(jax.random.split(key, 3))
        x = self._added(x, self._mixed(own, x, keys[0]), keys[1])
        x = lax.optimization_barrier(x)
        return self._added(x, self._mlp(own, x), keys[2])

    def _added(self, x: Array, branch: Array, key: Array | None) -> Array:
        with scope("elementwise"):
            return x + drop(branch, self._model.dropout, key)

    def _mixed(self, own: Parameters, x: Array, key: Array | None) -> Array:
        model, training = self._model, self._training
        qkv = self._linear(own, "attn.qkv", norm(x, own["ln_1.weight"], own["ln_1.bias"]))
        inner, shared = model.n_head * model.d_head, model.kv_heads * model.d_head
        shape = (training.batch_size, training.seq_len, -1, model.d_head)
        with scope("attention"):
            parts = jnp.split(qkv, (inner, inner + shared), axis=1)
            q, k, v = (part.reshape(shape) for part in parts)
            y = self._attention(q, k, v, key).reshape(-1, inner)
        return self._linear(own, "attn.proj", y).astype(x.dtype)

    def _mlp(self, own: Parameters, x: Array) -> Array:
        hidden = self._linear(own, "mlp.fc", norm(x, own["ln_2.weight"], own["ln_2.bias"]))
        arguments = jnp.split(hidden, 2, axis=1) if self._is_gated else (hidden,)
        with scope("elementwise"):
            after = activation(self._model.activation, *arguments)
        return self._linear(own, "mlp.proj", after).astype(x.dtype)

    def _linear(self, own: Parameters, name: str, x: Array) -> Array:
        with scope("products"):
            x = x if self._products is None else x.astype(self._products)
            return linear(x, own[f"{name}.weight"], own[f"{name}.bias"])

    def loss(self, weights: Parameters, x: Array, targets: Array, key: Array | None) -> Array:
        """The loss, in float32, from the embedded tokens [B, T, C] and targets [B, T]."""
        x = self.states(weights, x, key)
        with scope("head"):
            if self._products is not None:
                x = x.astype(self._products)
            logits = linear(x, weights["wte" if self._model.tied else "head.weight"])
            return cross_entropy(logits.astype(jnp.float32), targets.reshape(-1))


def cross_entropy(logits: Array, targets: Array) -> Array:
    """Mean cross-entropy in nats over the targets that are not IGNORE; NaN if there are none.

    Args:
        logits: float32 [rows, vocabulary].
        targets: [rows]. Compared with every place, not looked up: the gradient of a look-up is
            a scatter into zeros of the size of the logits.
    """
    counted = targets != IGNORE
    places = lax.broadcasted_iota(targets.dtype, logits.shape, 1)
    picked = jnp.where(places == targets[:, None], logits, 0).sum(axis=1)
    lost = jax.nn.logsumexp(logits, axis=1) - picked
    return jnp.where(counted, lost, 0).sum() / counted.sum()
