"""What a claim is: a sentence of others, the pairs of experiments that decide it, the rule."""

from __future__ import annotations

from dataclasses import dataclass, field

from cputrain import paths
from cputrain.analysis.claims.rules import Rule
from cputrain.experiment import Experiment
from cputrain.run.names import AGAIN_BESIDE


@dataclass(frozen=True)
class ClaimPair:
    """Two experiments that run beside each other; claims may share one.

    Attributes:
        beside: what the reference is called.
        change: what the other one has in its place; `AGAIN_BESIDE` is the same once more.
        blocks: of each side in a pass.
    """

    beside: str
    change: str
    experiment: Experiment
    reference: Experiment
    blocks: int

    @property
    def values(self) -> tuple[str, str]:
        """As the parameters of a suite's cell."""
        return self.beside, self.change

    @property
    def name(self) -> str:
        """As its record's folder."""
        return paths.cell_name(self.values)

    @property
    def again(self) -> str:
        """The name of the cell in which the reference runs beside itself."""
        return paths.cell_name((self.beside, AGAIN_BESIDE))

    @property
    def engines(self) -> tuple[str, ...]:
        """What trains on its sides, each once."""
        both = (self.reference.runtime.engine, self.experiment.runtime.engine)
        return tuple(dict.fromkeys(both))


@dataclass(frozen=True)
class Demonstration:
    """A pair run a third time with a fault of the earlier harness. Never a result.

    Attributes:
        name: the fault, of `worker.altered`.
        says: what the fault is, in one sentence.
        experiment: what is run with it and without it.
        reference: what both are compared with.
        is_fault: whether it is one; else it is a setting that no experiment has.
    """

    name: str
    says: str
    experiment: Experiment
    reference: Experiment
    blocks: int = 12
    is_fault: bool = True


@dataclass(frozen=True)
class ClaimFirstStep:
    """The fault that needs no run of its own: the first, compiling step is in the mean.

    Attributes:
        pairs: of which the ratios of means are reckoned, from the records' first steps.
        steps: of the mean.
    """

    pairs: tuple[ClaimPair, ...]
    steps: int = 10


@dataclass(frozen=True)
class Claim:
    """One claim of others.

    Attributes:
        id: C1 to C25.
        sentence: what is claimed.
        published: the source's factor.
        pairs: of experiments that decide it; the others are shown beside.
        rule: for the verdict.
        explained: which fault of the earlier harness produced it, or that none is known to;
            None where no earlier harness stands behind it.
        demonstration, first_step: the fault, to be seen.
    """

    id: str
    sentence: str
    published: str
    pairs: tuple[ClaimPair, ...]
    rule: Rule
    explained: str | None = None
    demonstration: Demonstration | None = None
    first_step: ClaimFirstStep | None = None
    notes: tuple[str, ...] = field(default=())
