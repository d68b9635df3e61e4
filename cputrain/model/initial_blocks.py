"""Initial values of tensors that are neither a plain layer's nor a norm's, by architecture."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Start = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def _lstm_weight(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform, as torch.nn.LSTM: up to 1 / sqrt(cells) either way; there are four gates' rows."""
    most = 1 / math.sqrt(shape[0] // 4)
    return generator.uniform(-most, most, shape)


def _lstm_bias(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """1 for the forget gates, so that cells remember at first (Jozefowicz et al. 2015); else 0."""
    return np.repeat([0.0, 1.0, 0.0, 0.0], shape[0] // 4)


def _near_zero(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """With a bias of 1, gMLP's gates are open at first (Liu et al. 2021, sec. 2.1)."""
    return generator.normal(0, 1e-3, shape)


def _ones(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape)


def _convolution(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform, as torch.nn.Conv1d: up to 1 / sqrt(KERNEL) either way."""
    most = 1 / math.sqrt(shape[1])
    return generator.uniform(-most, most, shape)


def _a_log(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """A from -16 to -1 (state-spaces/mamba, modules/mamba2.py, `A_init_range`)."""
    return np.log(generator.uniform(1, 16, shape))


def _dt_bias(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """softplus of it is log-uniform from 0.001 to 0.1 (Gu & Dao 2023, sec. 3.6)."""
    dt = np.exp(generator.uniform(math.log(0.001), math.log(0.1), shape))
    return dt + np.log(-np.expm1(-dt))


STARTS: dict[str, Start] = {
    "lstm.input.weight": _lstm_weight,
    "lstm.recurrent.weight": _lstm_weight,
    "lstm.bias": _lstm_bias,
    "spatial.weight": _near_zero,
    "spatial.bias": _ones,
    "conv.weight": _convolution,
    "a_log": _a_log,
    "skip": _ones,
    "dt_bias": _dt_bias,
}
"""A block's tensor, by its name without `h.<i>.` -> its first values, of any float type."""
