"""The programs that XLA compiles: a whole step, its parts, and those that only look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from cputrain.engines import EngineError
from cputrain.engines.jax_ import optimizers
from cputrain.engines.jax_.layers import Parameters
from cputrain.engines.jax_.model import Gpt
from cputrain.engines.jax_.optimizers import State
from cputrain.engines.jax_.options import options
from cputrain.engines.jax_.scopes import scope
from cputrain.experiment import Experiment


class Steps:
    """Compiled programs over a model; nothing is compiled before it is first called.

    Attributes:
        options: XLA's settings.
        is_steered: the learning rate is in the optimizer's state; see `optimizers.steered`.
        compiled: by name: step, accumulate, update, loss.
    """

    def __init__(self, experiment: Experiment, optimizer: Any = None) -> None:
        self._gpt = Gpt(experiment)
        self.options = options(experiment)
        self._seed = experiment.training.seed
        self._drops = experiment.model.dropout > 0
        self.is_steered = optimizer is not None
        self.optimizer = optimizer or optimizers.make(experiment.training)
        self.compiled: dict[str, jax.stages.Compiled] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}

    def run(self, name: str, *arguments: Any) -> Any:
        """What the program `name` gives; compiles it where it is not yet for these shapes.

        Raises:
            EngineError: XLA cannot compile it.
        """
        self.compile(name, *arguments)
        return self.compiled[name](*arguments)

    def compile(self, name: str, *arguments: Any) -> None:
        """Compile the program `name` for arguments of these shapes, unless it is."""
        shapes = tuple(x.shape for x in arguments if hasattr(x, "shape"))
        if self._shapes.get(name) == shapes:
            return
        function, donated = self._programs()[name]
        try:
            lowered = jax.jit(function, donate_argnums=donated).lower(*arguments)
            self.compiled[name] = lowered.compile(compiler_options=self.options)
        except jax.errors.JaxRuntimeError as error:
            first = str(error).strip().split("\n")[0]
            raise EngineError(f"XLA cannot compile the {name} program: {first}") from error
        self._shapes[name] = shapes

    def _programs(self) -> dict[str, tuple[Callable[..., Any], tuple[int, ...]]]:
        """Functions by name, each with the arguments whose memory its results take."""
        return {
            "step": (self.step, (0, 1)),
            "accumulate": (self.accumulate, (1,)),
            "update": (self.update, (0, 1)),
            "loss": (self.loss, ()),
        }

    def step(
        self,
        weights: Parameters,
        state: State,
        ids: Array,
        targets: Array,
        number: Array,
        shares: Array | None = None,
    ) -> tuple[Parameters, State, Array]:
        """One optimizer step on [A, B, T] of A micro-batches; new weights and state, the loss.

        Args:
            number: of the first micro-batch since the start, for its random numbers.
            shares: of the micro-batches, float32 [A]; None of a single one.
        """
        many = len(ids)
        if many == 1:
            loss, gradients = self.gradients(weights, ids[0], targets[0], number)
        else:

            def add(so_far: tuple[Array, Parameters], batch: Any) -> Any:
                own, share = batch
                return _with_share(so_far, self.gradients(weights, *own), share), None

            start = jnp.zeros(()), jax.tree.map(jnp.zeros_like, weights)
            numbers = number + jnp.arange(many, dtype=jnp.uint32)
            (loss, gradients), _ = lax.scan(add, start, ((ids, targets, numbers), shares))
        return *self._updated(weights, state, gradients), loss

    def accumulate(
        self, weights: Parameters, total: Parameters, share: Array, *batch: Array
    ) -> tuple[Parameters, Array]:
        """`total` + share of a micro-batch's gradients, and its loss."""
        loss, gradients = self.gradients(weights, *batch)
        return jax.tree.map(lambda a, b: a + (b * share).astype(a.dtype), total, gradients), loss

    def update(
        self, weights: Parameters, state: State, total: Parameters
    ) -> tuple[Parameters, State]:
        """New weights and state."""
        return self._updated(weights, state, total)

    def _updated(
        self, weights: Parameters, state: State, gradients: Parameters
    ) -> tuple[Parameters, State]:
        with scope("optimizer"):
            return optimizers.step(self.optimizer, weights, state, gradients)

    def gradients(
        self, weights: Parameters, ids: Array, targets: Array, number: Array
    ) -> tuple[Array, Parameters]:
        """Loss and gradients of a micro-batch [B, T], as a step has them."""
        key = jax.random.fold_in(self._key(), number) if self._drops else None

        def lost(weights: Parameters, embedded: Array) -> Array:
            return self._gpt.loss(weights, embedded, targets, key)

        with scope("embedding"):
            embedded = weights["wte"][ids]
        loss, (gradients, of_rows) = jax.value_and_grad(lost, (0, 1))(weights, embedded)
        # Added to the head's gradient where that lies: a sum of two tables would be a third.
        with scope("embedding"):
            gradients["wte"] = gradients["wte"].at[ids].add(of_rows)
        return loss, gradients

    def loss(self, weights: Parameters, ids: Array, targets: Array, number: Array) -> Array:
        """The loss of a micro-batch [B, T] without dropout; `number` is not used."""
        return self._gpt.loss(weights, weights["wte"][ids], targets, None)

    def _key(self) -> Array:
        return jax.random.key(self._seed, impl="rbg")


def _with_share(so_far: Any, new: Any, share: Array) -> Any:
    """`so_far` + share of a micro-batch's loss, which is not a number where nothing counts."""
    loss, gradients = new
    new = jnp.where(share == 0, 0, loss), gradients
    return jax.tree.map(lambda a, b: a + (b * share).astype(a.dtype), so_far, new)
