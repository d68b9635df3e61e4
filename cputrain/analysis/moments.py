"""The default experiment's step at many moments of a machine.

Each cell beside the default experiment leaves a moment: the median step of the reference's blocks
beside it. So every run of a sweep is a record of the machine's speed over its minutes.
"""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Sequence

from cputrain.analysis import identical
from cputrain.analysis.ends import CellRow
from cputrain.analysis.unchanged import Setting, settings
from cputrain.record.worker import WorkerRecord


def moments(cells: Sequence[CellRow]) -> dict[str, list[tuple[float, float]]]:
    """By session, how fast the machine was: cells beside the default experiment, each worker once.

    Args:
        cells: of one machine.
    """
    workers = identical.distinct(
        setting.cell for setting in settings(cells) if _is_of_default(setting)
    )
    by_session: dict[str, list[tuple[float, float]]] = {}
    for worker in workers:
        if worker.pairs:
            started = datetime.datetime.fromisoformat(worker.started).timestamp()
            by_session.setdefault(worker.session, []).append((started, _reference_s(worker)))
    return {session: sorted(points) for session, points in sorted(by_session.items())}


def _is_of_default(setting: Setting) -> bool:
    same_engine = identical.engine(setting.cell) == identical.engine(setting.base)
    return setting.is_of_default and same_engine


def _reference_s(worker: WorkerRecord) -> float:
    return statistics.median(pair.reference.median_s for pair in worker.pairs)
