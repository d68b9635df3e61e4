"""JAX: the whole step is one program that XLA compiles."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from msgspec import structs

from cputrain.engines import EngineError, Looked, check_weights
from cputrain.engines.accumulating import weighed
from cputrain.engines.batch import check
from cputrain.engines.jax_ import evidence, optimizers, updates
from cputrain.engines.jax_.arrays import copies, placed, zeros
from cputrain.engines.jax_.layers import Parameters
from cputrain.engines.jax_.schema import JaxEvidence
from cputrain.engines.jax_.steps import Steps
from cputrain.experiment import Experiment
from cputrain.model.bf16 import excused
from cputrain.model.shapes import weight_shapes

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.engines import Weights


class JaxEngine:
    """See `cputrain.engines.Engine`.

    Random numbers are drawn by the seed and the number of the micro-batch, so looking (`loss`,
    `gradients`, `evidence`) takes none. Nothing is compiled before it is asked for: the first
    step compiles the step alone.
    """

    name = "jax"
    pass_clock = None
    no_passes = "the step is one program that XLA compiled: its passes have no boundaries outside"

    def __init__(self, experiment: Experiment, weights: Weights) -> None:
        self._experiment = experiment
        self._numbers = jnp.bfloat16 if experiment.training.precision == "bf16" else jnp.float32
        self._excused = excused(experiment, weights)
        self._weights: Parameters = {}
        self.load_weights(weights)
        self._begin(Steps(experiment))
        self._sum: Parameters | None = None
        self._has_looked = False
        self.drawn = 0

    def _begin(self, steps: Steps) -> None:
        self._steps = steps
        # From zeros of NumPy's: JAX would compile a program for each shape.
        empty = jax.eval_shape(steps.optimizer.init, self._weights)
        self.state = jax.tree.map(zeros, empty)

    def steer(self, clip: float | None) -> None:
        """Begin with another optimizer: see `optimizers.steered`. Comes before the first step."""
        training = self._experiment.training
        self._begin(Steps(self._experiment, optimizers.steered(training, clip)))

    @property
    def compiled(self) -> dict[str, jax.stages.Compiled]:
        """The programs compiled so far, by name: see `Steps`."""
        return self._steps.compiled

    def train_step(self, *batches: Batch) -> float:
        """One optimizer step; the first one compiles it."""
        if self._sum is not None:
            raise EngineError("a whole step with gradients left over: update comes before")
        arrays = self.stacked(batches)
        self._weights, self.state, loss = self._steps.run(
            "step", self._weights, self.state, *arrays
        )
        self.drawn += len(batches)
        return float(loss)

    def accumulate(self, batch: Batch, share: float) -> float:
        """Forward and backward; the gradients add up in one place."""
        self._sum, loss = self._accumulated(batch, share, self._sum)
        self.drawn += 1
        return float(loss)

    def update(self) -> None:
        """The optimizer's step on the sum.

        Raises:
            EngineError: nothing was accumulated.
        """
        if self._sum is None:
            raise EngineError("update without gradients: accumulate some before")
        self._weights, self.state = self._steps.run("update", self._weights, self.state, self._sum)
        self._sum = None

    def synchronize(self) -> None:
        """Wait for weights, state and sums."""
        jax.block_until_ready((self._weights, self.state, self._sum))

    def loss(self, batch: Batch) -> float:
        """The loss without dropout."""
        if self._experiment.model.dropout or self._steps.is_steered:
            return float(self._steps.run("loss", self._weights, *self._arrays(batch)))
        return float(self._looked(batch)[1])

    def gradients(self, batch: Batch) -> dict[str, np.ndarray]:
        """The gradients, as the next step would have them."""
        gradients, _, share = self._looked(batch)
        return _whole(gradients, share)

    def _looked(self, batch: Batch) -> tuple[Parameters, Array, float]:
        """A share of the gradients, the loss, and which share; nothing is trained.

        Where the step is compiled it tells them itself, which saves compiling another program: from
        a state of zeros its first moment is a share of the gradients. It works on copies.
        """
        share = optimizers.first_moment_share(self._experiment.training)
        if share is None or not self._step_tells():
            return *self._accumulated(batch, 1.0, None), 1.0
        _, state, loss = self._step_on_copies(batch)
        return optimizers.first_moment(state), loss, share

    def _step_tells(self) -> bool:
        """Whether a step from a state of zeros tells the gradients of a batch."""
        is_compiled = "step" in self.compiled and "accumulate" not in self.compiled
        is_steered = self._steps.is_steered  # it may have scaled them
        return is_compiled and not (is_steered or self._experiment.model.dropout)

    def _step_on_copies(self, batch: Batch) -> tuple[Parameters, Any, Array]:
        """Weights and state, from zeros, after a step on this batch alone, and its loss."""
        batches = [batch] * self._experiment.training.grad_accum
        weights = {name: placed(np.array(x)) for name, x in self._weights.items()}
        state = jax.tree.map(zeros, self.state)
        after, state, loss = self._steps.run("step", weights, state, *self.stacked(batches))
        return after, state, loss

    def _accumulated(
        self, batch: Batch, share: float, total: Parameters | None
    ) -> tuple[Parameters, Array]:
        total = jax.tree.map(zeros, self._weights) if total is None else total
        arrays = (np.float32(share), *self._arrays(batch))
        total, loss = self._steps.run("accumulate", self._weights, total, *arrays)
        return total, loss

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the weights, float32 in every precision."""
        return copies(self._weights)

    def load_weights(self, weights: Weights) -> None:
        """Copies of `weights` in place of the present ones."""
        check_weights(weight_shapes(self._experiment), weights)
        self._weights = {
            name: placed(weights[name].astype(self._numbers))
            for name in weight_shapes(self._experiment)
        }

    @property
    def steps_done(self) -> int:
        """The least of optax's counters."""
        return min(int(count) for count in optimizers.counters(self.state))

    def state_bytes(self) -> int:
        """Bytes of the optimizer's state."""
        return optimizers.state_bytes(self.state)

    def excused(self) -> dict[str, str]:
        """Weights that bf16 lets stand still, with the reason."""
        return dict(self._excused)

    def versions(self) -> dict[str, str]:
        """JAX, its compiler's library, optax and NumPy."""
        return {
            "jax": jax.__version__,
            "jaxlib": version("jaxlib"),
            "optax": optax.__version__,
            "numpy": np.__version__,
        }

    def readings(self) -> dict[str, Any]:
        """What JAX reports, and the options that its programs are compiled with."""
        return {**evidence.readings(), "compiler_options": self._steps.options}

    def evidence(self, batch: Batch) -> JaxEvidence:
        """What the program executes that a step is, read from XLA's own text of it."""
        if "step" not in self.compiled:
            many = self._experiment.training.grad_accum
            self._steps.compile("step", self._weights, self.state, *self.stacked([batch] * many))
        return evidence.look(self.compiled["step"])

    def looked(self, batch: Batch) -> Looked[JaxEvidence]:
        """The evidence; from the second time on also the gradients and the update of a step.

        The first time nothing is run: that step's copies would count as memory of the training.
        """
        told, is_first = self.evidence(batch), not self._has_looked
        self._has_looked, training = True, self._experiment.training
        share = optimizers.first_moment_share(training)
        if is_first or share is None or not self._step_tells():
            return Looked(told)
        after, state, _ = self._step_on_copies(batch)
        done = updates.followed(training, self._weights, after, state)
        gradients = _whole(optimizers.first_moment(state), share)
        return Looked(structs.replace(told, followed=done), gradients)

    def stacked(self, batches: Any) -> tuple[Any, ...]:
        """Micro-batches as the step takes them, the number of the first, shares if several."""
        ids, targets, number = zip(*(self._arrays(batch) for batch in batches), strict=True)
        arrays = np.stack(ids), np.stack(targets), number[0]
        if len(ids) == 1:
            return arrays
        return (*arrays, np.array([share for _, share in weighed(batches)], np.float32))

    def _arrays(self, batch: Batch) -> tuple[Any, ...]:
        """Ids and targets, int32 [B, T], and the number of the micro-batch.

        Raises:
            EngineError: another shape than the experiment's, or ids without a row: JAX itself
                would take the nearest one.
        """
        check(self._experiment, batch)
        ids, targets = (x.astype(np.int32) for x in (batch.inputs, batch.targets))
        return ids, targets, np.uint32(self.drawn)


def _whole(gradients: Parameters, share: float) -> dict[str, np.ndarray]:
    """Gradients, of a share of them."""
    return {name: x / np.float32(share) for name, x in copies(gradients).items()}


def build(experiment: Experiment, weights: Weights) -> JaxEngine:
    """The engine of this experiment; see `cputrain.engines.build`."""
    return JaxEngine(experiment, weights)
