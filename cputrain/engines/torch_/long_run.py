"""A torch engine's optimizer steered from step to step; see `cputrain.engines.long_run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from cputrain.engines import EngineError

if TYPE_CHECKING:
    from cputrain.engines.torch_.engine import TorchEngine

RANDOM = "random"
"""The state of torch's generator, from which dropout draws."""


class LongRun:
    """See `cputrain.engines.long_run.LongRun`.

    Raises:
        EngineError: the engine trains nothing.
    """

    def __init__(self, engine: TorchEngine, clip: float | None) -> None:
        if engine.optimizer is None:
            raise EngineError("objective = 'forward' has no optimizer to steer")
        self._engine = engine
        self._optimizer, self._parameters = engine.optimizer, engine.trained
        self._clip = clip
        self._rate: float | None = None
        self._optimizer.register_step_pre_hook(self._before)

    def set_rate(self, rate: float) -> None:
        """The learning rate from the next update on."""
        self._rate = self._engine.steered_rate = rate

    def _before(self, optimizer: Any, *_: object) -> None:
        """What comes before every step of the optimizer."""
        if self._rate is not None:
            for group in optimizer.param_groups:
                group["lr"] = self._rate
        if self._clip is not None:
            # One tensor after another: a profile of the step shows the optimizer's kernel alone.
            parameters = self._parameters.values()
            torch.nn.utils.clip_grad_norm_(parameters, self._clip, foreach=False)

    def state(self) -> dict[str, np.ndarray]:
        """By the parameter's name and the optimizer's own, "h.0.fc.weight/exp_avg"; `RANDOM`."""
        state = {RANDOM: torch.get_rng_state().numpy().copy()}
        for name, parameter in self._parameters.items():
            for key, value in self._optimizer.state.get(parameter, {}).items():
                state[f"{name}/{key}"] = _array(value)
        return state

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Put a state in place of the present one."""
        by_name: dict[str, dict[str, Any]] = {name: {} for name in self._parameters}
        for full, array in state.items():
            name, _, key = full.rpartition("/")
            if full == RANDOM:
                continue
            if name not in by_name:
                raise EngineError(f"optimizer's state {full}: no such weight is trained")
            by_name[name][key] = _value(key, array, self._parameters[name])
        if RANDOM not in state or not all(by_name.values()):
            raise EngineError("the optimizer's state is not whole: weights or random numbers miss")
        for name, values in by_name.items():
            self._optimizer.state[self._parameters[name]] = values
        torch.set_rng_state(torch.from_numpy(np.array(state[RANDOM])))


def _array(value: Any) -> np.ndarray:
    if not isinstance(value, Tensor):
        return np.array(value, np.int64)  # a counter of our own
    array: np.ndarray = value.detach().to(torch.float32, copy=True).numpy()
    return array


def _value(key: str, array: np.ndarray, parameter: Tensor) -> Any:
    """What `_array` was made of: state has the parameter's type, torch's counters are float32."""
    if array.dtype == np.int64:
        return int(array)
    tensor = torch.from_numpy(np.array(array)).clone()
    if key == "step":
        return tensor
    if key.startswith("exp_avg") and tensor.shape != parameter.shape:
        raise EngineError(f"optimizer's state {key}: {tuple(tensor.shape)} does not fit its weight")
    return tensor.to(parameter.dtype)
