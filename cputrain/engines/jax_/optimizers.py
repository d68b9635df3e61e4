"""The optimizers, from optax, with learning-rate warm-up."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from cputrain.engines.jax_.layers import Parameters
from cputrain.experiment.parts import Training

State = Any
"""optax's: a tree of arrays."""


def make(training: Training) -> Any:
    """The experiment's optax.GradientTransformation; decay acts on all tensors alike.

    SGD is plain: no momentum, and decay is added to the gradient. AdamW and Lion decay the
    weights themselves, times the learning rate (Loshchilov & Hutter 2019; Chen et al. 2023).
    """
    decay = training.weight_decay

    def rate(count: Array) -> Array:
        """Update 1, whose count is 0, has 1/lr_warmup_steps of the learning rate."""
        share = jnp.minimum(1.0, (count + 1) / max(1, training.lr_warmup_steps))
        return training.learning_rate * share

    match training.optimizer:
        case "adamw":
            betas = (training.beta1, training.beta2)
            return optax.adamw(rate, *betas, eps=training.eps, weight_decay=decay)
        case "lion":
            return optax.lion(rate, training.beta1, training.beta2, weight_decay=decay)
        case _:
            return optax.chain(optax.add_decayed_weights(decay), optax.sgd(rate))


class Rate(NamedTuple):
    """The state of `by_rate`: what updates are multiplied by."""

    rate: Array


def by_rate() -> Any:
    """The last part of an optimizer whose learning rate is in its state."""

    def start(_: Parameters) -> Rate:
        return Rate(jnp.zeros(()))

    def update(updates: Parameters, state: Rate, _: Parameters | None = None) -> Any:
        return jax.tree.map(lambda x: -state.rate * x, updates), state

    return optax.GradientTransformation(start, update)


def steered(training: Training, clip: float | None) -> Any:
    """As `make`, with a rate that `with_rate` sets, on gradients held to a norm."""
    parts = [] if clip is None else [optax.clip_by_global_norm(clip)]
    if training.optimizer == "adamw":
        parts.append(optax.scale_by_adam(training.beta1, training.beta2, training.eps))
    elif training.optimizer == "lion":
        parts.append(optax.scale_by_lion(training.beta1, training.beta2))
    else:  # sgd has no counter of its own
        parts.append(optax.scale_by_schedule(lambda count: jnp.ones_like(count, jnp.float32)))
    return optax.chain(*parts, optax.add_decayed_weights(training.weight_decay), by_rate())


def with_rate(state: State, rate: float) -> State:
    """The state of a steered optimizer with another learning rate."""
    return (*state[:-1], Rate(jnp.asarray(rate, jnp.float32)))


def step(
    optimizer: Any, weights: Parameters, state: State, gradients: Parameters
) -> tuple[Parameters, State]:
    """New weights and state, of the types of the old ones.

    Computed in float32 in every precision, as torch's fused kernels do, then rounded.
    """
    wide = (_wide(tree) for tree in (gradients, state, weights))
    gradients32, state32, weights32 = wide
    updates, new_state = optimizer.update(gradients32, state32, weights32)
    new = optax.apply_updates(weights32, updates)
    return _as(new, weights), _as(new_state, state)


def _wide(tree: Any) -> Any:
    """Numbers in float32, counters as they are."""
    return jax.tree.map(
        lambda x: x.astype(jnp.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree
    )


def _as(tree: Any, like: Any) -> Any:
    return jax.tree.map(lambda x, old: x.astype(old.dtype), tree, like)


def first_moment_share(training: Training) -> float | None:
    """What of the gradients the first update has as its first moment; None without moments."""
    return {"adamw": 1 - training.beta1, "lion": 1 - training.beta2}.get(training.optimizer)


def first_moment(state: State) -> Parameters:
    """The running mean of the gradients, by name of the weights."""
    moment: Parameters = optax.tree.get(state, "mu")
    return moment


def counters(state: State) -> list[Array]:
    """The optimizer's own counters of its updates."""
    return [x for x in jax.tree.leaves(state) if jnp.issubdtype(x.dtype, jnp.integer)]


def state_bytes(state: State) -> int:
    """Bytes of what is kept for the weights, without the counters."""
    counts = {id(x) for x in counters(state)}
    return sum(x.nbytes for x in jax.tree.leaves(state) if id(x) not in counts)
