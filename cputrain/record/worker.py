"""One worker: what it was asked, what was in force, what it measured."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import field, structs

from cputrain.experiment import Experiment, ExperimentError
from cputrain.record.answers import Finished, Phases, Ready, Sampled, Watched
from cputrain.record.evidence import EncodedEvidence
from cputrain.record.part import Count, Number, Parts, Readings, Seconds, Status
from cputrain.record.process import Change, Placement, State, Turn
from cputrain.record.proof import Check, Trained
from cputrain.record.sample import Pair, Sample, SpoiltPair, compared_s, spoilt_sides
from cputrain.record.work import Counts, Data, SavedStart

MOST_APART = math.log(1e6)
"""Of the two blocks of a pair, in logarithms: what lies further apart was not measured."""
UNLIKE_WARM = 1.5
"""Times the fastest warm step from which blocks are not what was warm: 5 of 797 workers were beyond
it, the worst outliers among them (docs/figures/turns.md)."""


def are_steady(block_s: Sequence[float], fastest_s: float | None = None) -> bool:
    """Whether half of some blocks took less than `UNLIKE_WARM` times the fastest step.

    Args:
        block_s: seconds of a step in each; none are steady.
        fastest_s: of a warm step; None is that of the fastest block.
    """
    if not block_s:
        return True
    return statistics.median(block_s) < UNLIKE_WARM * (fastest_s or min(block_s))


class WorkerRecord(Readings, frozen=True, kw_only=True):
    """What one worker left. It starts as "unproven"; what it answers joins it.

    Attributes:
        session, run: which sweep, and which asv call of it.
        started: ISO 8601, UTC.
        commit, dirty: of the working tree, and files of it that differ from the commit.
        turn: of a run of engines side by side.
        left_over: what its launcher had to end.
        note: what a person should know, as of a model that was not saved.
        forked: whether it was forked from a process that had imported its engine.
        code_was_cached: whether there was code that an earlier worker had compiled; in JSON it is
            called found_code.
        reference: the worker that it was measured beside, itself where it is a reference; None
            for the reason in `reasons`. reference_counts: what that one trains.
        repeats: the cell, as suite/cell, that ran the same experiment beside the same one in the
            same pass: everything here is that cell's.
        evidence: of the type that its engine's spec names (`engines.recorded`).
        pairs: blocks of it and of the reference that ran one after the other.
        spoilt_pairs: those that were taken again.

    The others are described where they come from: see `answers`.
    """

    id: str
    session: str
    run: str
    started: str
    mode: Literal["full", "quick"]
    machine: str
    experiment: Parts
    identity: str
    commit: str | None = None
    dirty: list[str] = field(default_factory=list)
    status: Status = "unproven"
    reason: str | None = None
    wall_s: Seconds | None = None
    turn: Turn | None = None
    machine_changes: list[Change] = field(default_factory=list)
    placement: Placement | None = None
    readings: dict[str, Any] | None = None
    state: State | None = None
    phases: Phases = field(default_factory=dict)
    composed: str | None = None
    started_from: SavedStart | None = None
    simulated: str | None = None
    counts: Counts | None = None
    data: Data | None = None
    versions: dict[str, str] = field(default_factory=dict)
    in_force: list[Check] | None = None
    warm_up_steps: Count | None = None
    steady: bool | None = None
    samples: list[Sample] = field(default_factory=list)
    peak_rss_bytes: Count | None = None
    peak_rss_bytes_by_rank: list[Count | None] | None = None
    torchrun_peak_rss_bytes: Count | None = None
    first_loss: Number | None = None
    steps_done: Count | None = None
    training_s: Seconds | None = None
    optimizer_state_bytes: Count | None = None
    trained: Trained | None = None
    last_loss: Number | None = None
    evidence: EncodedEvidence | None = None
    model_file: str | None = None
    note: str | None = None
    left_over: str | None = None
    forked: bool | None = None
    code_was_cached: bool | None = field(default=None, name="found_code")
    warm_step_s: Seconds | None = None
    no_passes: str | None = None
    reference: str | None = None
    reference_counts: Counts | None = None
    repeats: str | None = None
    pairs: list[Pair] = field(default_factory=list)
    spoilt_pairs: list[SpoiltPair] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            _check_experiment(msgspec.json.encode(self.experiment))
        except (ExperimentError, TypeError) as error:
            raise ValueError(f"experiment: {error}") from error
        for pair in self.pairs:
            if pair.sample >= len(self.samples):
                raise ValueError(f"pairs: there is no sample {pair.sample}")
            if abs(self.log_ratio(pair)) > MOST_APART:
                raise ValueError("pairs: one block took more than 1e6 times as long as the other")
        if self.status != "ok":
            return
        needed = ["placement", "counts", "data", "trained", "wall_s", "training_s"]
        if self.reference != self.id:  # a reference's samples are in the records of its cells
            needed.append("samples")
        for name in needed:
            if not getattr(self, name):
                raise ValueError(f"{name} is missing in a worker that is ok")

    def but(self, **changes: Any) -> WorkerRecord:
        """The same record with some fields changed."""
        return structs.replace(self, **changes)

    def with_ready(self, ready: Ready, placement: Placement) -> WorkerRecord:
        """With what the worker says once it is warm."""
        return self.but(**structs.asdict(ready), placement=placement)

    def with_sample(self, sampled: Sampled | Watched) -> WorkerRecord:
        """With one more sample."""
        fields = structs.asdict(sampled.peak) | structs.asdict(sampled.so_far)
        fields["reasons"] = self.reasons | sampled.peak.reasons  # it may have one for its reference
        return self.but(**fields, samples=[*self.samples, sampled.sample])

    def with_proof(self, finished: Finished) -> WorkerRecord:
        """With what shows that the model trained. That it is "ok" is `run.cell`'s to say."""
        fields = structs.asdict(finished) | structs.asdict(finished.so_far)
        del fields["so_far"]
        if finished.in_force is None:  # what was so after the warm-up
            del fields["in_force"]
        return self.but(**fields)

    @property
    def ok(self) -> bool:
        """Whether its steps are a number."""
        return self.status == "ok"

    @property
    def step_s(self) -> list[float]:
        """Seconds of every timed step, its samples one after the other."""
        return [seconds for sample in self.samples for seconds in sample.step_s]

    def log_ratio(self, pair: Pair) -> float:
        """Natural logarithm of a pair: its own block's step over the reference's, as compared."""
        own, other = compared_s(self.samples[pair.sample], pair.reference)
        return math.log(own) - math.log(other)

    @property
    def is_steady(self) -> bool:
        """Whether its blocks trained as its warm-up had: that was steady, and half of the blocks
        took less than `UNLIKE_WARM` times its fastest step; of a step of which only a part was
        warmed up (`composed`) the first alone is known.
        """
        if self.steady is False:
            return False
        if not self.samples or self.warm_step_s is None or self.composed is not None:
            return True
        return are_steady([sample.median_s for sample in self.samples], self.warm_step_s)

    @property
    def has_steady_reference(self) -> bool:
        """Whether the blocks of the reference beside it were.

        One took twice as long in two of three, and nothing that is read told why
        (docs/figures/turns.md).
        """
        return are_steady([pair.reference.median_s for pair in self.pairs])

    @property
    def reference_s(self) -> float:
        """Seconds of a step of the reference beside it, of a worker with pairs: the median."""
        return statistics.median(pair.reference.median_s for pair in self.pairs)

    def disturbed_sides(self, pair: Pair) -> tuple[bool, bool]:
        """Whether its own block was spoilt, and the reference's: such a pair does not count."""
        return spoilt_sides(self.samples[pair.sample], pair.reference)

    @property
    def is_disturbed(self) -> bool:
        """Whether others spoilt one of its pairs for good; without pairs, one of its samples."""
        if self.pairs:
            return any(any(self.disturbed_sides(pair)) for pair in self.pairs)
        return any(sample.disturbed for sample in self.samples)

    @property
    def paired_ratio(self) -> float | None:
        """Time over the reference's: the median over the pairs that count; None without one."""
        ratios = [self.log_ratio(p) for p in self.pairs if not any(self.disturbed_sides(p))]
        return math.exp(statistics.median(ratios)) if ratios else None

    @property
    def work(self) -> Counts:
        """The counts, of a worker that came so far. Raises ValueError for others."""
        if self.counts is None:
            raise ValueError("a worker that was never warm has no counts")
        return self.counts

    @property
    def place(self) -> Placement:
        """The placement, of a worker that came so far. Raises ValueError for others."""
        if self.placement is None:
            raise ValueError("a worker that never started has no placement")
        return self.placement


def step_s(workers: Iterable[WorkerRecord]) -> float | None:
    """Seconds of a step of a cell: the median over all samples of a sample's median step.

    asv says the same of the samples that it has. None without a sample.
    """
    medians = [sample.median_s for worker in workers for sample in worker.samples]
    return statistics.median(medians) if medians else None


@functools.lru_cache(maxsize=2000)
def _check_experiment(text: bytes) -> None:
    """Raise ExperimentError or TypeError where it is none; cells of many machines run the same."""
    Experiment.from_json(msgspec.json.decode(text))
