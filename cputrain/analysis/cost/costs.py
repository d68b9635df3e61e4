"""What is known of a machine's costs: coefficients by engine, how far off they are, their range."""

from __future__ import annotations

import msgspec

from cputrain.analysis.cost.scope import Range

LEVEL = 0.9
"""Of intervals."""


class Compared(msgspec.Struct, frozen=True):
    """A cell's measured value beside what is predicted of it.

    Attributes:
        name: suite/cell.
        measured, predicted: ratio to the reference, or bytes.
        left_out: predicted over measured, once for each level of its own that was left out of
            what coefficients were learned from.
        fits: whether it is among what they were learned from.
    """

    name: str
    measured: float
    predicted: float
    left_out: list[float]
    fits: bool

    @property
    def off(self) -> float:
        """Predicted over measured."""
        return self.predicted / self.measured


class Errors(msgspec.Struct, frozen=True):
    """Errors as shares: 0.05 is 5 % off.

    Attributes:
        cells: how many.
        median, p90: of the cells that coefficients were learned from.
        median_out, p90_out: where the level of a field was left out; None where too few are left.
        coverage: share of those within the interval that the others make.
    """

    cells: int
    median: float
    p90: float
    median_out: float | None
    p90_out: float | None
    coverage: float | None


class Learned(msgspec.Struct, frozen=True):
    """Coefficients, and how good they are.

    Attributes:
        coefficients: by term.
        half: of the interval, of the natural logarithm; None where the cells are too few.
        errors: over the cells.
        compared: every cell.
        doubtful: values of fields of kind that are predicted beyond the interval where they are
            left out, as "field value": the logarithm of predicted over measured, in the median.
    """

    coefficients: dict[str, float]
    half: float | None
    errors: Errors
    compared: list[Compared]
    doubtful: dict[str, float] = msgspec.field(default_factory=dict)


class EngineCosts(msgspec.Struct, frozen=True):
    """What is known of an engine on a machine.

    Attributes:
        time: of a step over the reference's.
        memory: peak bytes; None where no cell tells them.
        reference_s: seconds of a step of the engine's default experiment.
        range: what the cells had.
    """

    time: Learned
    memory: Learned | None
    reference_s: float
    range: Range


class DriftAt(msgspec.Struct, frozen=True):
    """The interval of a while's mean step over what the records of a machine say (`drift`).

    Attributes:
        while_s: seconds of the while.
        low, high: ends of the ratio, at LEVEL.
    """

    while_s: float
    low: float
    high: float


class Costs(msgspec.Struct, frozen=True):
    """What is known of a machine.

    Attributes:
        peak: FLOP/s in fp32; bandwidth: bytes/s; threads: that the peak is of.
        engines: by name.
        drift: of whiles that get longer; empty where the records tell none.
        far: share of the pairs while the CPUs lay far apart (`analysis.places`); predictions
            are for as much of the time.
        cache: bytes of all caches of the last level; 0 where that is not known.
        memory: bytes that the machine has; 0 where that is not known.
    """

    peak: float
    bandwidth: float
    threads: int
    engines: dict[str, EngineCosts]
    drift: list[DriftAt]
    far: float = 0.0
    cache: int = 0
    memory: int = 0
