"""Models in a precision and what a step of them shows, for tests of this folder."""

import pytest
from made_model import make
from settled import SMALL

from cputrain.engines.torch_ import evidence, precision

TORCHAO = ("q8_torchao", "bitnet_torchao")
ROUNDED = ("q8", "q4", "bitnet", *TORCHAO)


def setting(name, **changes):
    """The small experiment in this precision; skips where torchao is needed and missing."""
    if name in TORCHAO:
        pytest.importorskip("torchao")
    return SMALL.but(precision=name, **changes)


def prepared(experiment):
    """Its model, ready to train."""
    return precision.prepare(make(experiment), experiment)


def step(made, experiment, parts):
    """Forward and backward; the loss."""
    with precision.autocast(experiment):
        loss = made(*parts)
    loss.backward()
    return loss.item()


def profiled(made, experiment, parts):
    """A profile of one step; no gradients stay."""
    with evidence.profiled() as profile_of_step:
        step(made, experiment, parts)
    made.zero_grad()
    return profile_of_step


def failed(results):
    """Names of the checks that do not hold."""
    return {check.name for check in results if not check.ok}


def arrays(made):
    """Every weight as it is read."""
    return {name: precision.to_numpy(p) for name, p in made.named_parameters()}
