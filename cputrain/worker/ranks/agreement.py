"""Whether the processes that train together really do: what only all of them together can show."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check, same
from cputrain.worker.ranks.group import BACKEND, Group

if TYPE_CHECKING:
    from cputrain.data.feed import Feed
    from cputrain.engines import Engine
    from cputrain.engines.torch_.parallel import ParallelEngine

ROUNDING = {"bf16": 0.02}
"""Most that the order of a sum changes, as a share of its largest entry; 8 bits of bf16."""
ROUNDING_FP32 = 1e-5


def members(experiment: Experiment, group: Group) -> list[Check]:
    """As many processes as asked, over the backend that was meant."""
    return [
        same("processes that train together", experiment.system.processes, group.size),
        same("backend of their exchange", BACKEND, group.backend),
    ]


def averaging(
    experiment: Experiment, group: Group, engine: ParallelEngine, feed: Feed
) -> list[Check]:
    """A step's gradients are the mean of the ranks' own, and these are of rows that differ.

    All ranks have to ask at once.
    """
    most = ROUNDING.get(experiment.training.precision, ROUNDING_FP32)
    apart, spread = engine.averaging(feed.batch(engine.first_own))
    name = "gradients of a step from the mean over all processes"
    checks = [Check(name, f"<= {most}", apart, apart <= most)]
    if group.size > 1:
        name = "gradients of this process's rows from that mean"
        checks.append(Check(name, f"> {most}", spread, spread > most))
    return checks


def of_all(group: Group, own: list[Check]) -> list[Check]:
    """On rank 0: its own checks and those of the others, named by their rank; elsewhere its own.

    All ranks have to ask at once.
    """
    each = group.gather(own)
    others = [check.of_rank(rank) for rank, checks in enumerate(each) if rank for check in checks]
    return [*own, *others]


def same_data(group: Group, feed: Feed) -> list[Check]:
    """On rank 0: all ranks train on the same corpus. All ranks have to ask at once."""
    prints = group.gather(feed.facts()["fingerprint"])
    return [same("corpus of all processes", prints[:1], sorted(set(prints)))] if prints else []


def same_weights(group: Group, engine: Engine) -> list[Check]:
    """On rank 0: all ranks hold the same weights to the last bit. All have to ask at once."""
    prints = group.gather(
        {
            name: hashlib.sha256(array.tobytes()).hexdigest()
            for name, array in engine.weights().items()
        }
    )
    if not prints:
        return []
    first, *others = prints
    differ = {
        f"rank {rank}": f"{n} of {len(first)} tensors differ"
        for rank, other in enumerate(others, 1)
        if (n := sum(other[name] != first[name] for name in first))
    }
    return [Check("weights of all processes", "equal", differ or "equal", not differ)]
