"""The optimizers, the kernels that they go over the tensors with, and learning-rate warm-up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.optim import Adafactor, Optimizer

from cputrain.engines.rates import rate_at
from cputrain.engines.torch_.updates import SGD, AdamW, Lion, Updates
from cputrain.experiment import Experiment
from cputrain.experiment.parts import Training

KERNELS: dict[str | None, dict[str, bool]] = {
    "default": {},  # one tensor after another: on a CPU torch chooses nothing else by itself
    "foreach": {"foreach": True},
    "fused": {"fused": True},
}
"""torch's arguments by runtime.optimizer_kernel."""


Steps: TypeAlias = Updates | Optimizer
"""What takes the steps: an optimizer of ours, or one of torch's classes."""


def make(experiment: Experiment, parameters: Iterable[Tensor]) -> Steps:
    """The experiment's optimizer over `parameters`; decay acts on all of them alike.

    SGD is plain: no momentum, and decay is added to the gradient (the same as decoupled decay
    then). Adafactor is torch's (Shazeer & Stern 2018), with its own epsilons and growing decay
    of the second moment, weight_decay decoupled, and learning_rate in place of the paper's
    greatest relative step. It is the only one of torch's classes, as it has no public function.
    """
    training, kernel = experiment.training, KERNELS[experiment.runtime.optimizer_kernel]
    rate, decay = training.learning_rate, training.weight_decay
    match training.optimizer:
        case "adamw":
            return AdamW(parameters, **adamw_arguments(experiment))
        case "sgd":
            return SGD(parameters, lr=rate, weight_decay=decay, **kernel)
        case "lion":
            return Lion(
                parameters, lr=rate, betas=(training.beta1, training.beta2), weight_decay=decay
            )
        case _:
            return Adafactor(parameters, lr=rate, weight_decay=decay, **kernel)


def adamw_arguments(experiment: Experiment) -> dict[str, Any]:
    """AdamW's arguments after the parameters, by torch's names."""
    training = experiment.training
    return {
        "lr": training.learning_rate,
        "betas": (training.beta1, training.beta2),
        "eps": training.eps,
        "weight_decay": training.weight_decay,
        **KERNELS[experiment.runtime.optimizer_kernel],
    }


def said(optimizer: Steps, trained: Iterable[Tensor]) -> dict[str, Any]:
    """What the optimizer says of itself, by the attributes of `OptimizerState`.

    Args:
        optimizer: whose groups are read.
        trained: the tensors that it has to update.
    """
    groups, times = optimizer.param_groups, Counter(map(id, _parameters(optimizer)))
    return {
        "learning_rate": [group["lr"] for group in groups],
        "betas": [[*group["betas"]] for group in groups if "betas" in group],
        # Adafactor's are two, and its own.
        "eps": [group["eps"] for group in groups if isinstance(group.get("eps"), float)],
        "weight_decay": [group["weight_decay"] for group in groups],
        "kernel": [_kernel_of(group) for group in groups],
        "tensors": times.total(),
        "once": sum(times[id(parameter)] == 1 for parameter in trained),
        "state_bytes": state_bytes(optimizer) if steps_done(optimizer) else None,
    }


def _kernel_of(group: Mapping[str, Any]) -> str:
    return next((name for name in ("fused", "foreach") if group.get(name)), "default")


def _parameters(optimizer: Steps) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def set_rate(optimizer: Steps, training: Training, step: int) -> None:
    """Give the optimizer the learning rate of its next update, which is number `step`."""
    if step <= training.lr_warmup_steps:
        for group in optimizer.param_groups:
            group["lr"] = rate_at(training, step)


def steps_done(optimizer: Steps) -> int:
    """The least of the counters that are kept for each tensor; 0 before the first step."""
    return min(
        int(optimizer.state[parameter]["step"]) if parameter in optimizer.state else 0
        for parameter in _parameters(optimizer)
    )


def state_bytes(optimizer: Steps) -> int:
    """Bytes of the tensors that the optimizer keeps; 0 before the first step.

    Without the counters, of which there is one for each tensor.
    """
    return sum(
        value.numel() * value.element_size()
        for state in optimizer.state.values()
        for name, value in state.items()
        if isinstance(value, Tensor) and name != "step"
    )


FEW = 2**20
"""Numbers of a tensor that is stepped and put back in some milliseconds."""


def step_single_tensors(optimizer: Steps) -> None:
    """Let the optimizer update its smallest tensor, and the largest of up to `FEW` numbers.

    Each by itself, by a zero gradient, and everything is put back. Parameters without a gradient
    are left alone, so this shows which kernel `step` takes without training. No parameter may
    have a gradient before.
    """
    by_size = sorted(_parameters(optimizer), key=Tensor.numel)
    step_single_tensor(optimizer, by_size[0])
    for largest in [p for p in by_size[1:] if p.numel() <= FEW][-1:]:
        step_single_tensor(optimizer, largest)


def step_single_tensor(optimizer: Steps, parameter: Tensor) -> None:
    """Let the optimizer update one tensor; see `step_single_tensors`."""
    state = optimizer.state.get(parameter)
    before = None if state is None else {name: _kept(value) for name, value in state.items()}
    value = parameter.detach().clone()
    parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        parameter.copy_(value)
    if before is None:
        del optimizer.state[parameter]
    else:
        optimizer.state[parameter] = before


def _kept(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value
