"""A made comparison: two sides whose true ratio is known."""

import math
import random

import msgspec
from made_project import worker
from settled import settled

from cputrain.record.cell import CellKey
from cputrain.record.releases import ReleaseSide, ReleasesRecord, TakenPair
from cputrain.record.sample import Pair, Sample

STEP_S = 0.05
PASSES = {"forward_s": 0.3, "backward_s": 0.6, "optimizer_s": 0.1}


def taken(
    ratio,
    cell="torch",
    number=1,
    sides=(0, 1),
    seed=0,
    losses=1.0,
    own=None,
    changes=None,
    noise=(0.004, 0.01),
):
    """A pair of workers.

    Args:
        ratio: true time of the worker over the reference's; its backward pass has all of it.
        losses: the worker's over the reference's.
        own: fields of the worker's record that differ.
        changes: of what the worker runs.
        noise: standard deviations of logarithms: of two workers, and of two blocks.
    """
    chance = random.Random(f"{seed} {number} {cell} {sides}")
    off = ratio * math.exp(chance.gauss(0, noise[0]))
    beside = [_block(1.0, 1.0, chance, first, 0.0) for first in range(1, 25, 3)]
    cells = [_block(off, losses, chance, first, noise[1]) for first in range(1, 25, 3)]
    experiment = settled()
    pairs = [
        {"sample": n, "reference": block, "first": ("cell", "reference")[n % 2]}
        for n, block in enumerate(beside)
    ]
    reference = worker(experiment, [], id=f"r{number}", reference=f"r{number}")
    samples = msgspec.convert(cells, list[Sample])
    whole = worker(
        experiment.but(**changes or {}),
        [[1.0]],
        id=f"w{number}{cell}{sides}",
        reference=f"r{number}",
        first_loss=5.6 * losses,
        **own or {},
    )
    return TakenPair(
        key=CellKey("Framework", (cell,)),
        number=number,
        sides=sides,
        reference=reference,
        worker=whole.but(samples=samples, pairs=msgspec.convert(pairs, list[Pair])),
        steps_done=[(first + 2, first + 2) for first in range(1, 25, 3)],
        status="ok",
    )


def _block(ratio, losses, chance, first, noise):
    seconds = STEP_S * ratio * math.exp(chance.gauss(0, noise))
    plain = {name: STEP_S * share for name, share in PASSES.items()}
    plain["backward_s"] += seconds - STEP_S
    return {
        "step_s": [seconds] * 3,
        "loss": [losses * 5.0 / (first + n) for n in range(3)],
        **plain,
    }


def record(pairs, labels=("one==1", "one==2")):
    """A comparison of these pairs."""
    sides = [
        ReleaseSide(label=label, installed={"one": label[-1], "two": "2"}, commit="c" * 40)
        for label in labels
    ]
    return ReleasesRecord(
        session="20261123T060000-1",
        machine="here",
        started="2026-11-23T06:00:00+00:00",
        seed=1,
        budget_s=600.0,
        sides=sides,
        taken=pairs,
    )


def usual(ratio=1.2, **others):
    """Two A/A pairs, then three passes of one cell."""
    identical = [taken(1.0, number=n, sides=(0, 0)) for n in (1, 2)]
    return [*identical, *(taken(ratio, number=n, **others) for n in (1, 2, 3))]
