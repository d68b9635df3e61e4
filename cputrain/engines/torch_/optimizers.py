"""The optimizers, the kernels that they go over the tensors with, and learning-rate warm-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adafactor, AdamW, Optimizer

from cputrain.engines.rates import rate_at
from cputrain.experiment import Experiment
from cputrain.experiment.parts import Training

KERNELS: dict[str | None, dict[str, bool]] = {
    "default": {},  # one tensor after another: on a CPU torch chooses nothing else by itself
    "foreach": {"foreach": True},
    "fused": {"fused": True},
}
"""torch's arguments by runtime.optimizer_kernel."""


class Lion(Optimizer):  # type: ignore[misc]
    """Evolved sign momentum (Chen et al. 2023, alg. 2): one moment, updates of one size.

    Args:
        params: parameters or groups of them.
        lr: step size.
        betas: interpolation of the update, decay of the moment.
        weight_decay: decoupled, times lr.
    """

    def __init__(
        self, params: Any, lr: float, betas: tuple[float, float], weight_decay: float
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()  # type: ignore[untyped-decorator,unused-ignore]
    def step(self, closure: Callable[[], Any] | None = None) -> None:
        """One update of every parameter that has a gradient.

        Raises:
            ValueError: a closure is given; there is no use for one here.
        """
        if closure is not None:
            raise ValueError("Lion takes no closure")
        for group in self.param_groups:
            rate, (beta1, beta2) = group["lr"], group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(parameter)
                state["step"] += 1
                moment, gradient = state["exp_avg"], parameter.grad
                parameter.mul_(1 - rate * group["weight_decay"])
                parameter.add_(moment.lerp(gradient, 1 - beta1).sign_(), alpha=-rate)
                moment.lerp_(gradient, 1 - beta2)


def make(experiment: Experiment, parameters: Iterable[Tensor]) -> Optimizer:
    """The experiment's optimizer over `parameters`; decay acts on all of them alike.

    SGD is plain: no momentum, and decay is added to the gradient (the same as decoupled decay
    then). Adafactor is torch's (Shazeer & Stern 2018), with its own epsilons and growing decay
    of the second moment, weight_decay decoupled, and learning_rate in place of the paper's
    greatest relative step.
    """
    training, kernel = experiment.training, KERNELS[experiment.runtime.optimizer_kernel]
    rate, decay = training.learning_rate, training.weight_decay
    betas = (training.beta1, training.beta2)
    match training.optimizer:
        case "adamw":
            return AdamW(
                parameters, lr=rate, betas=betas, eps=training.eps, weight_decay=decay, **kernel
            )
        case "sgd":
            plain = SGD(parameters, lr=rate, weight_decay=decay, **kernel)
            plain.register_step_post_hook(_count)
            return plain
        case "lion":
            return Lion(parameters, lr=rate, betas=betas, weight_decay=decay, **kernel)
        case _:
            return Adafactor(parameters, lr=rate, weight_decay=decay, **kernel)


def _count(optimizer: Optimizer, *_: object) -> None:
    """Count a step for every tensor with a gradient: plain SGD keeps no counter of its own."""
    for parameter in _parameters(optimizer):
        if parameter.grad is not None:
            state = optimizer.state[parameter]
            state["step"] = state.get("step", 0) + 1


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def set_rate(optimizer: Optimizer, training: Training, step: int) -> None:
    """Give the optimizer the learning rate of its next update, which is number `step`."""
    if step <= training.lr_warmup_steps:
        for group in optimizer.param_groups:
            group["lr"] = rate_at(training, step)


def steps_done(optimizer: Optimizer) -> int:
    """The least of the counters that are kept for each tensor; 0 before the first step."""
    return min(
        int(optimizer.state[parameter]["step"]) if parameter in optimizer.state else 0
        for parameter in _parameters(optimizer)
    )


def state_bytes(optimizer: Optimizer) -> int:
    """Bytes of the tensors that the optimizer keeps; 0 before the first step.

    Without the counters, of which there is one for each tensor.
    """
    return sum(
        value.numel() * value.element_size()
        for state in optimizer.state.values()
        for name, value in state.items()
        if isinstance(value, Tensor) and name != "step"
    )


def step_single_tensor(optimizer: Optimizer) -> None:
    """Let the optimizer update its smallest tensor by a zero gradient, then put everything back.

    Parameters without a gradient are left alone, so this shows which kernel `step` takes
    without training. No parameter may have a gradient before.
    """
    parameter = min(_parameters(optimizer), key=Tensor.numel)
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
