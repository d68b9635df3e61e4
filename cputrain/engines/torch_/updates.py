"""Optimizers by the functions that torch's own classes call, without these classes.

To build or step one of `torch.optim`'s classes imports torch.compile's front end, `torch._dynamo`,
which takes nearly as long as torch itself, in every worker. `torch.optim.adamw.adamw` and
`torch.optim.sgd.sgd` do without it, and are all that such a class does with the tensors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd
from torch.profiler import record_function


class Updates(ABC):
    """What the engine uses of `torch.optim.Optimizer`, under the names that it has there.

    Args:
        parameters: that it updates.
        settings: "lr", the step size, and others under torch's names.

    Attributes:
        param_groups: one, of all parameters, with the settings that every step reads anew.
        state: of each parameter that was updated; "step" counts its updates.
    """

    def __init__(self, parameters: Iterable[Tensor], **settings: Any) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": list(parameters), **settings}]
        self.state: dict[Tensor, dict[str, Any]] = {}
        self._hooks: list[Callable[[Updates], None]] = []

    def register_step_pre_hook(self, hook: Callable[[Updates], None]) -> None:
        """Call `hook` with the optimizer at the start of every step."""
        self._hooks.append(hook)

    def step(self) -> None:
        """One update of every parameter that has a gradient."""
        with record_function(f"Optimizer.step#{type(self).__name__}.step"):
            for hook in self._hooks:
                hook(self)
            (group,) = self.param_groups
            parameters = [p for p in group["params"] if p.grad is not None]
            for parameter in parameters:
                if parameter not in self.state:
                    self.state[parameter] = self._first_state(parameter)
            with torch.no_grad():
                self._update(parameters, group)

    def zero_grad(self) -> None:
        """Forget the gradients."""
        with record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
            for parameter in self.param_groups[0]["params"]:
                parameter.grad = None

    @abstractmethod
    def _first_state(self, parameter: Tensor) -> dict[str, Any]: ...

    @abstractmethod
    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None: ...

    def _states(self, parameters: list[Tensor]) -> list[dict[str, Any]]:
        return [self.state[parameter] for parameter in parameters]


class AdamW(Updates):
    """As `torch.optim.AdamW` (Loshchilov & Hutter 2019, alg. 2).

    Args:
        parameters, lr: see `Updates`.
        betas: decay of the two moments.
        eps: added to the root of the second one.
        weight_decay: decoupled, times lr.
        kernel: torch's `foreach` or `fused`, or neither.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        **kernel: bool,
    ) -> None:
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(parameters, **settings, **kernel)

    def _first_state(self, parameter: Tensor) -> dict[str, Any]:
        return {
            "step": torch.zeros((), dtype=torch.float32),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        states = self._states(parameters)
        adamw(
            parameters,
            _gradients(parameters),
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
            **_kernel(group),
        )


class SGD(Updates):
    """As `torch.optim.SGD` without momentum, which keeps no state; here it counts its updates.

    Args:
        parameters, lr: see `Updates`.
        weight_decay: added to the gradient.
        kernel: torch's `foreach` or `fused`, or neither.
    """

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, weight_decay: float, **kernel: bool
    ) -> None:
        super().__init__(parameters, lr=lr, weight_decay=weight_decay, **kernel)

    def _first_state(self, parameter: Tensor) -> dict[str, Any]:
        return {"step": 0}

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        sgd(
            parameters,
            _gradients(parameters),
            [],
            weight_decay=group["weight_decay"],
            momentum=0.0,
            lr=group["lr"],
            dampening=0.0,
            nesterov=False,
            maximize=False,
            **_kernel(group),
        )
        for state in self._states(parameters):
            state["step"] += 1


class Lion(Updates):
    """Evolved sign momentum (Chen et al. 2023, alg. 2): one moment, updates of one size.

    Args:
        parameters, lr: see `Updates`.
        betas: interpolation of the update, decay of the moment.
        weight_decay: decoupled, times lr.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float],
        weight_decay: float,
    ) -> None:
        super().__init__(parameters, lr=lr, betas=betas, weight_decay=weight_decay)

    def _first_state(self, parameter: Tensor) -> dict[str, Any]:
        return {"step": 0, "exp_avg": torch.zeros_like(parameter)}

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        lr, (beta1, beta2) = group["lr"], group["betas"]
        for parameter, gradient in zip(parameters, _gradients(parameters), strict=True):
            state = self.state[parameter]
            moment = state["exp_avg"]
            state["step"] += 1
            parameter.mul_(1 - lr * group["weight_decay"])
            parameter.add_(moment.lerp(gradient, 1 - beta1).sign_(), alpha=-lr)
            moment.lerp_(gradient, 1 - beta2)


def _kernel(group: dict[str, Any]) -> dict[str, bool]:
    return {name: group[name] for name in ("foreach", "fused") if name in group}


def _gradients(parameters: list[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]
