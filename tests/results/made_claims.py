"""Records of pairs that decide claims, and of demonstrations, as a run would leave them."""

from __future__ import annotations

from typing import Any

import numpy as np
from made_project import beside, steps, worker
from msgspec import structs

from cputrain import paths
from cputrain.analysis.claims import judge, table
from cputrain.analysis.claims.claim import ClaimPair, Demonstration
from cputrain.analysis.claims.judge import ClaimVerdict
from cputrain.record import files
from cputrain.record.altered import Altered, Losses, Side, path
from cputrain.record.cell import CellKey, CellRecord
from cputrain.record.worker import WorkerRecord
from cputrain.run.names import AGAIN_BESIDE, CLAIM_PARAMETERS, CLAIMS
from cputrain.run.references import FILE as REFERENCES

PAIRS = {pair.name: pair for pair in table.pairs(table.chosen([]))}


def key(values: tuple[str, str]) -> CellKey:
    """Of a cell."""
    again = paths.cell_name((values[0], AGAIN_BESIDE))
    return CellKey(CLAIMS, values, param_names=CLAIM_PARAMETERS, baseline=again)


class Made:
    """Writes records below a folder."""

    def __init__(self, root: Any) -> None:
        self.root, self.rng = root, np.random.default_rng(11)
        self._references: dict[str, list[WorkerRecord]] = {}

    def cell(
        self, pair: ClaimPair, time: float, passes: int = 2, reference_s: float = 0.04,
        reference_params: int = 3_300_000, **others: Any,
    ) -> list[WorkerRecord]:  # fmt: skip
        """A pair whose experiment takes `time` times as long as its reference.

        Args:
            others: fields of its workers.
        """
        made = []
        for _ in range(passes):
            worker_record = worker(pair.experiment, steps(time * reference_s, self.rng), **others)
            worker_record = beside(worker_record, reference_s, self.rng)
            counts = structs.replace(worker_record.work, n_params=reference_params)
            made.append(worker_record.but(reference_counts=counts))
        self.record(pair, made)
        self.references(pair, made)
        return made

    def record(self, pair: ClaimPair, workers: list[WorkerRecord]) -> None:
        """The record of a pair, in the place of an earlier one."""
        path = self.root / "output" / "here" / CLAIMS / pair.name / "run.json"
        files.write(path, CellRecord(key=key(pair.values), workers=workers))

    def references(self, pair: ClaimPair, workers: list[WorkerRecord]) -> None:
        """Those that the workers ran beside."""
        known = self._references.setdefault(pair.again, [])
        for its_id in [w.reference for w in workers]:
            known.append(worker(pair.reference, [], id=its_id, reference=its_id))
        folder = self.root / "output" / "here" / CLAIMS
        record = CellRecord(key=key((pair.beside, AGAIN_BESIDE)), workers=known)
        files.write(folder / pair.again / REFERENCES, record)

    def demonstration(self, what: Demonstration, altered: float, plain: float) -> None:
        """One whose sides take so many times as long as its reference."""
        sides = {
            name: Side(
                blocks=steps(time * 0.04, self.rng),
                disturbed=[False] * 3,
                losses=Losses(first=5.5, last=2.5, steps=12),
                said={"training": "h.0.ln_1.weight gets no gradient"} if name == "altered" else {},
            )
            for name, time in (("altered", altered), ("plain", plain), ("reference", 1.0))
        }
        record = Altered(
            name=what.name,
            machine="here",
            session="s",
            started="2026-11-22T11:00:00+00:00",
            commit=None,
            experiment=what.experiment.to_json(),
            beside=what.reference.to_json(),
            **sides,
        )
        files.write(path(self.root / "output", "here", what.name), record)


def verdicts(made: Made) -> dict[str, ClaimVerdict]:
    """By id."""
    return {verdict.id: verdict for verdict in judge.judge(made.root, "here").verdicts}
