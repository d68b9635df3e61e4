"""What a trained model says of the next token: logits, in evaluation, of any engine's weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from cputrain.engines import specs
from cputrain.engines.torch_ import precision
from cputrain.engines.torch_.assemble import assemble
from cputrain.experiment import Experiment
from cputrain.experiment.fields import refuse

BY_POSITION = "wpe"
"""Positions that are learned, a row each; a shorter model has the first ones."""
CUT = ("gpt", "llama", "moe")
"""Architectures that are the same model at a shorter seq_len, but for `BY_POSITION`."""
FILL = 0
"""Stands after the tokens that there are, which do not see it."""


class NextToken:
    """A trained model that is asked what comes next.

    The model is the module that the torch engine trains, with the weights that any engine has
    trained: all of them train the same one. It computes in the precision that it was trained in.
    Every call runs over all places; a token costs at most a third of a sequence's training step.

    Args:
        experiment: of the training.
        weights: by the names of `model.shapes`, whole, without low-rank additions.
        most: tokens that `logits` will be given at most; None is the model's seq_len.

    Attributes:
        length: tokens that it sees at most.

    Raises:
        ExperimentError: a model that does not predict the next token, or that torch has not.
        EngineError: the weights do not fit.
    """

    def __init__(
        self, experiment: Experiment, weights: Mapping[str, np.ndarray], most: int | None = None
    ) -> None:
        training = experiment.training
        if training.is_masked:
            rule = "it predicts masked tokens, not the next one"
            refuse("objective", training.objective, rule)
        self.length = _length(experiment, most)
        self._experiment = specs.settle(_evaluated(experiment, self.length))
        if BY_POSITION in weights:
            weights = {**weights, BY_POSITION: weights[BY_POSITION][: self.length]}
        self._model = assemble(self._experiment, weights).eval()

    def logits(self, ids: Sequence[int]) -> np.ndarray:
        """Of the token after these, of which there are 1 to `length`: float32 [vocab_size]."""
        row: np.ndarray = self._logits(np.array([ids], np.int64), len(ids) - 1)[0]
        return row

    def all_logits(self, ids: np.ndarray) -> np.ndarray:
        """Of the token after each, [B, T] of at most `length`: float32 [B, T, vocab_size]."""
        return self._logits(ids, slice(0, ids.shape[1]))

    def _logits(self, ids: np.ndarray, at: int | slice) -> np.ndarray:
        filled = np.full((len(ids), self.length), FILL, np.int64)
        filled[:, : ids.shape[1]] = ids
        with torch.inference_mode(), precision.autocast(self._experiment):
            logits = self._model.logits(self._model.hidden(torch.from_numpy(filled))[:, at])
        array: np.ndarray = logits.float().numpy()
        return array


def _length(experiment: Experiment, most: int | None) -> int:
    """The places that are computed: as many as are needed, where the model can be cut."""
    whole, window = experiment.training.seq_len, experiment.model.window or 1
    if most is None or experiment.model.architecture not in CUT:
        return whole
    return min(whole, -(-max(most, 2) // window) * window)


def _evaluated(experiment: Experiment, length: int) -> Experiment:
    """The same model on this engine, its plain way; what only training has is left out."""
    model = dataclasses.replace(experiment.model, dropout=0.0)
    training = dataclasses.replace(
        experiment.training,
        seq_len=length,
        activation_checkpointing=False,
        fine_tuning="scratch",
        optimizer="adamw",
        loader="memory",
        loader_workers=0,
    )
    return Experiment(model=model, training=training)
