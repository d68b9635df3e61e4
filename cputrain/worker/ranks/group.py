"""The processes that train together, seen from one of them: what they tell one another."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from cputrain.record.requests import JobRequest
from cputrain.worker.ranks.messages import Message

BACKEND = "gloo"
PATIENCE_S = 3600
"""How long a process waits for the others; one that died is noticed at once. The wall-clock
limit of a whole worker is its launcher's."""


class UnknownMessage(RuntimeError):
    """Rank 0 sent what no rank knows: one line."""


class Group:
    """This process's place among those that torchrun started.

    Everything here is done by all of them at the same point, and never on the clock.

    Args:
        patience_s: how long it waits for the others.

    Attributes:
        rank: this one's number; 0 leads.
        size: how many there are.
        local_rank: its number on this host.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        dist.init_process_group(BACKEND, timeout=timedelta(seconds=patience_s))
        self.rank: int = dist.get_rank()
        self.size: int = dist.get_world_size()
        self.local_rank = int(os.environ["LOCAL_RANK"])

    @property
    def backend(self) -> str:
        """What really carries their messages."""
        return str(dist.get_backend())

    def tell(self, message: JobRequest | Message) -> None:
        """Send a message from rank 0 to all others, which `hear` it; the request comes first."""
        dist.broadcast_object_list([message], src=0)

    def hear_request(self) -> JobRequest:
        """The first message of rank 0: what all of them run. Raises UnknownMessage."""
        request = self._next()
        if not isinstance(request, JobRequest):
            raise UnknownMessage(f"rank 0 sent {type(request).__name__} before the request")
        return request

    def hear(self) -> Message:
        """The next message of rank 0. Raises UnknownMessage."""
        message = self._next()
        if not isinstance(message, Message):
            raise UnknownMessage(f"rank 0 sent {type(message).__name__}, and no message")
        return message

    def _next(self) -> Any:
        received: list[Any] = [None]
        dist.broadcast_object_list(received, src=0)
        return received[0]

    def gather(self, value: Any) -> list[Any]:
        """The values of all ranks, on rank 0; elsewhere an empty list."""
        values: list[Any] = [None] * self.size if self.rank == 0 else []
        dist.gather_object(value, values or None, dst=0)
        return values

    def mean(self, number: float) -> float:
        """The mean of all ranks' numbers."""
        total = torch.tensor([number], dtype=torch.float64)
        dist.all_reduce(total)
        return float(total.item()) / self.size

    def any(self, flag: bool) -> bool:
        """Whether it is so on one rank at least; the same answer on all."""
        number = torch.tensor([int(flag)])
        dist.all_reduce(number, dist.ReduceOp.MAX)
        return bool(number.item())

    def wait_for_all(self) -> None:
        """Go on when all ranks have come this far."""
        dist.barrier()


def is_loss_of_others(error: BaseException) -> bool:
    """Whether an error says no more than that another process is gone or silent."""
    if isinstance(error, dist.DistError):
        return True
    return isinstance(error, RuntimeError) and "gloo/" in str(error)
