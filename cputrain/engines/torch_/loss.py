"""Cross-entropy of a head's logits: all of them at once, or by chunks of rows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from cputrain.data.batches import IGNORE


def cross_entropy(
    x: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, chunk: int | None = None
) -> Tensor:
    """Mean cross-entropy in nats over the targets that are not IGNORE; NaN if there are none.

    The softmax is computed in float32, whatever the precision of the product.

    Args:
        x: final hidden states [B, T, C].
        weight: the head's table [V, C].
        bias: of the head [V], if it has one.
        targets: int64 [B, T].
        chunk: rows of logits that exist at a time; None is all B * T.
    """
    if chunk is None:
        logits = F.linear(x, weight, bias)
        logits = logits.view(-1, logits.shape[-1]).float()
        return F.cross_entropy(logits, targets.view(-1), ignore_index=IGNORE)
    if torch.is_autocast_enabled("cpu"):
        x = x.to(torch.get_autocast_dtype("cpu"))
    differentiable = torch.is_grad_enabled()
    wanted = tuple(
        differentiable and tensor is not None and tensor.requires_grad
        for tensor in (x, weight, bias)
    )
    rows = x.reshape(-1, x.shape[-1])
    loss: Tensor = _Chunked.apply(rows, weight, bias, targets.reshape(-1), chunk, wanted)
    return loss


class _Chunked(torch.autograd.Function):  # type: ignore[misc]
    """The forward pass computes the gradients too, while it has a chunk's logits.

    So the logits are never computed twice: the matrix products are those of the whole loss.
    The backward pass only scales the gradients.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        chunk: int,
        wanted: tuple[bool, bool, bool],
    ) -> Tensor:
        """Loss of x [N, C] in the precision of x; `wanted`: gradients of x, weight, bias."""
        table = weight.to(x.dtype)
        offset = None if bias is None else bias.to(x.dtype)
        counted = (targets != IGNORE).sum()
        share = 1 / counted.clamp(min=1)  # of each counted row; without any, no gradient
        total = torch.zeros((), dtype=torch.float32, device=x.device)
        grad_x = torch.empty_like(x) if wanted[0] else None
        # Sums over chunks lose too much in bf16.
        grad_w = torch.zeros_like(weight, dtype=torch.float32) if wanted[1] else None
        grad_b = torch.zeros_like(bias, dtype=torch.float32) if wanted[2] else None
        for start in range(0, len(x), chunk):
            rows, wants = x[start : start + chunk], targets[start : start + chunk]
            log_p = F.log_softmax(F.linear(rows, table, offset).float(), dim=-1)
            total = total + F.nll_loss(log_p, wants, ignore_index=IGNORE, reduction="sum")
            if not any(wanted):
                continue
            grad = _by_logits(log_p, wants, share).to(x.dtype)
            if grad_x is not None:
                grad_x[start : start + chunk] = grad @ table
            if grad_w is not None:
                if grad.dtype == grad_w.dtype:
                    grad_w.addmm_(grad.t(), rows)
                else:
                    grad_w.add_(grad.t() @ rows)
            if grad_b is not None:
                grad_b.add_(grad.sum(0, dtype=torch.float32))
        if any(wanted):
            ctx.save_for_backward(grad_x, grad_w, grad_b)
        ctx.dtypes = (weight.dtype, None if bias is None else bias.dtype)
        return total / counted

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        """Scaled in place, as they are large: torch refuses a second pass over them."""
        grad_x, grad_w, grad_b = (
            None if grad is None else grad.mul_(scale) for grad in ctx.saved_tensors
        )
        of_weight, of_bias = ctx.dtypes
        return (
            grad_x,
            None if grad_w is None else grad_w.to(of_weight),
            None if grad_b is None else grad_b.to(of_bias),
            None,
            None,
            None,
        )


def _by_logits(log_p: Tensor, targets: Tensor, share: Tensor) -> Tensor:
    """Gradient of the loss by a chunk's logits: (p - one_hot(target)) * share; 0 if ignored.

    Args:
        log_p: [R, V], overwritten.
        targets: [R].
        share: 1 / number of counted rows of the whole batch.
    """
    scale = torch.where(targets != IGNORE, share, 0.0).unsqueeze(1)
    place = targets.clamp(min=0).unsqueeze(1)
    return log_p.exp_().mul_(scale).scatter_add_(1, place, -scale)
