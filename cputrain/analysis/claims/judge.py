"""The verdicts on all claims of a machine, from its records alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain.analysis import effects
from cputrain.analysis.claims import faulty, shown, table
from cputrain.analysis.claims.claim import Claim
from cputrain.analysis.claims.evidence import ClaimEvidence, PairResult
from cputrain.analysis.claims.rules import Decision, Word
from cputrain.analysis.claims.shown import Line
from cputrain.analysis.effects import Analysis
from cputrain.analysis.noises import NoiseKey
from cputrain.analysis.paired.noise import EngineNoise
from cputrain.analysis.paired.verdict import widened
from cputrain.record import altered, files
from cputrain.record.altered import FOLDER, Altered
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.record.worker import WorkerRecord
from cputrain.results import rows, stored
from cputrain.results.records import Problem
from cputrain.results.rows import CellResult
from cputrain.run.names import CLAIMS
from cputrain.run.references import FILE as REFERENCES


@dataclass(frozen=True)
class ClaimVerdict:
    """What this machine says of a claim.

    Attributes:
        id, sentence, published: of the claim.
        verdict: holds, does not hold, cannot be told here.
        why: what decided, or why nothing did, in one sentence.
        rule: when it holds.
        decided: the quantity that decided; None where none did.
        lines: all quantities and pairs, as they were measured.
        explained: which fault of the earlier harness produced it; None for other sources'.
        demonstrated: the same with that fault, then without it; the first alone where nothing was
            run. reckoned: with the first step in the mean.
        notes: what a reader has to know beside.
        further_passes: about how many more tell.
        pairs: names of those that another pass is to measure.
    """

    id: str
    sentence: str
    published: str
    verdict: Word
    why: str
    rule: str
    decided: Line | None
    lines: tuple[Line, ...]
    explained: str | None
    demonstrated: tuple[Line, ...]
    reckoned: tuple[Line, ...]
    notes: tuple[str, ...]
    further_passes: int | None
    pairs: tuple[str, ...]

    @property
    def demonstrations(self) -> tuple[Line, ...]:
        """What faults make of it, run and reckoned."""
        return (*self.demonstrated, *self.reckoned)


@dataclass(frozen=True)
class Judged:
    """All claims of a machine.

    Attributes:
        cells: of the pairs, A/A ones too.
        analysis: of them.
        problems: records that cannot be used.
    """

    verdicts: list[ClaimVerdict]
    cells: Sequence[CellResult]
    analysis: Analysis
    problems: list[Problem]


def judge(root: Path, machine: str) -> Judged:
    """The verdicts of a machine, in the order of the table.

    Args:
        root: of data and results; it has the records in output/.
        machine: whose.
    """
    cells, problems = rows.read(root, machine, ("full",), only=CLAIMS)
    analysis = effects.analyse(cells, {})
    pairs = {cell.value: _pair_result(index, cell, analysis) for index, cell in enumerate(cells)}
    demonstrated, unusable = _altered(root, machine)
    noise = _newest_noise(analysis, cells)
    by_name = {name: _of_altered(record, noise) for name, record in demonstrated.items()}
    evidence = ClaimEvidence(pairs, by_name, _references(root, machine))
    verdicts = [_verdict(claim, evidence, demonstrated, noise) for claim in table.CLAIMS.values()]
    return Judged(verdicts, cells, analysis, [*problems, *unusable])


def _pair_result(index: int, cell: CellResult, analysis: Analysis) -> PairResult:
    known = analysis.effects.get(index)
    why = cell.reason or str(analysis.rows[index]["reason"] or "it has no pair that counts")
    if not cell.ok:
        return PairResult(None, f"{cell.status}: {why}")
    if known is None:
        return PairResult(None, why, cell.workers)
    its = widened(known.effect, known.noise, known.off_by)
    return PairResult(its, why, cell.workers, known.doubts)


def _altered(root: Path, machine: str) -> tuple[dict[str, Altered], list[Problem]]:
    """The demonstrations that were run, by name; and what cannot be read."""
    records: dict[str, Altered] = {}
    problems = []
    for place in stored.find(root, machine, altered.FILE):
        if place.suite != FOLDER:
            continue
        try:
            record = place.read(Altered, altered.SCHEMA)
        except OSError as error:
            problems.append(place.problem(f"cannot be read: {error.strerror}"))
        except files.RecordError as error:
            problems.append(place.problem(str(error)))
        else:
            if (record.name, record.machine) == (place.cell, machine):
                records[place.cell] = record
            else:
                inside = f"{record.name[:60]!r} of {record.machine[:60]!r}"
                problems.append(place.problem(f"it is {inside}; delete it"))
    return records, problems


def _references(root: Path, machine: str) -> dict[str, tuple[WorkerRecord, ...]]:
    """Workers that others ran beside; what cannot be read is not there."""
    known = {}
    for place in stored.find(root, machine, REFERENCES):
        if place.suite != CLAIMS:
            continue
        with contextlib.suppress(OSError, files.RecordError):
            known[place.cell] = tuple(place.read(CellRecord, SCHEMA).workers)
    return known


def _newest_noise(analysis: Analysis, cells: Sequence[CellResult]) -> EngineNoise | None:
    """torch's of whole steps, of the newest session that has one: of what is run altered."""
    sessions = sorted(
        {(cell.workers[-1].started, cell.workers[-1].session) for cell in cells if cell.workers}
    )
    for _, session in reversed(sessions):
        learned = analysis.noises.learned.get(NoiseKey(session, "torch"))
        if learned is not None and (whole := learned.of_sort("whole")) is not None:
            return whole
    return None


def _of_altered(record: Altered, noise: EngineNoise | None) -> PairResult:
    if record.status != "ok":
        return PairResult(None, f"{record.status}: {record.reason}")
    return faulty.measured(record.altered, record.reference, noise)


def _verdict(
    claim: Claim,
    evidence: ClaimEvidence,
    demonstrated: Mapping[str, Altered],
    noise: EngineNoise | None,
) -> ClaimVerdict:
    decision = claim.rule.decide(evidence)
    sides: Iterable[Line] = ()
    if claim.demonstration is not None and claim.demonstration.is_fault:
        record = demonstrated.get(claim.demonstration.name)
        sides = faulty.demonstration(claim.demonstration, record, noise)
    reckoned: Iterable[Line] = ()
    if claim.first_step is not None:
        reckoned = faulty.first_steps(claim.first_step, claim.rule, evidence)
    return ClaimVerdict(
        id=claim.id,
        sentence=claim.sentence,
        published=claim.published,
        verdict=decision.word,
        why=_why(decision),
        rule=claim.rule.words(),
        decided=None if decision.measured is None else shown.of_decision(decision),
        lines=tuple(shown.lines(claim, evidence)),
        explained=claim.explained,
        demonstrated=tuple(sides),
        reckoned=tuple(reckoned),
        notes=(*claim.notes, *shown.notes(claim, evidence)),
        further_passes=decision.further_passes,
        pairs=decision.pairs,
    )


def _why(decision: Decision) -> str:
    if decision.quantity is None or decision.measured is None:
        return decision.reason or ""
    text = shown.of_decision(decision).text
    return f"{text}; {decision.reason}" if decision.reason else text
