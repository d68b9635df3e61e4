"""Coefficients of a machine from its cells: `costs.Costs`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cputrain.analysis import moments
from cputrain.analysis.cost import errors, memory, observed, scope
from cputrain.analysis.cost.costs import (
    LEVEL,
    Compared,
    Costs,
    DriftAt,
    EngineCosts,
    Errors,
    Learned,
)
from cputrain.analysis.cost.fit import Anchor, Array, Rows, fit
from cputrain.analysis.cost.observed import Held, Observation
from cputrain.analysis.cost.terms import PAGE_UNIT, TERMS, Rates, terms
from cputrain.analysis.drift import Moments, learned
from cputrain.analysis.ends import CellRow
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.results.machines import MachineFacts

WHILES_S = tuple(60.0 * 2**i for i in range(16))
"""From a minute to 23 days, of which the drift is kept: it is the same for all configurations."""
MEMORY_SD = 0.03
"""Standard deviation of the logarithm of a peak, which also depends on what files are in memory."""


def learn(cells: Sequence[CellRow], facts: MachineFacts) -> Costs | None:
    """What the cells of a machine tell of its costs; None without its measured rates."""
    rates = _rates(facts)
    if rates is None:
        return None
    speeds = moments.moments(cells)
    ratios, held = observed.ratios(cells, speeds), observed.held(cells)
    engines = {}
    for name in specs.NAMES:
        seconds = observed.reference_s(cells, name)
        its = [one for one in ratios if one.experiment.runtime.engine == name]
        fits = [one for one in its if one.fits]
        if seconds is None or len(fits) < errors.FEWEST:
            continue
        peaks = [one for one in held if one.experiment.runtime.engine == name]
        engines[name] = EngineCosts(
            of_time(its, seconds, rates, name),
            _memory(peaks, name) if len(peaks) >= errors.FEWEST else None,
            seconds,
            scope.ranges([*(one.experiment for one in fits), scope.plain(name)]),
        )
    return Costs(rates.peak, rates.bandwidth, rates.threads, engines, _drift(speeds))


def _drift(by_session: Mapping[str, Moments]) -> list[DriftAt]:
    known = [(while_s, learned(by_session, while_s)) for while_s in WHILES_S]
    return [DriftAt(while_s, *its.interval(LEVEL)) for while_s, its in known if its is not None]


def _rates(facts: MachineFacts) -> Rates | None:
    """Of the most threads that each was measured with.

    A step computes with all threads, and none is faster than at the peak: the peak of fewer would
    forbid what is measured. The bandwidth is a unit alone, so that of fewer does.
    """
    peaks = facts.peaks.get("fp32", {})
    if not peaks or not facts.bandwidth:
        return None
    most, moving = max(peaks, key=int), max(facts.bandwidth, key=int)
    return Rates(peaks[most], facts.bandwidth[moving], int(most))


def of_time(its: Sequence[Observation], seconds: float, rates: Rates, engine: str) -> Learned:
    """What an engine's cells tell of the time of a step.

    Args:
        its: its cells; those that fit are at least one.
        seconds: of a step of its default experiment.
    """

    def row(experiment: Experiment) -> list[float]:
        return list(terms(experiment, rates).values())

    logs, sds = (np.array([getattr(one, name) for one in its]) for name in ("log_ratio", "sd"))
    own, reference = (
        np.array([row(getattr(one, name)) for one in its]) for name in ("experiment", "reference")
    )
    counted = _counted(own, [one.pages for one in its])
    beside = _counted(reference, [one.reference_pages for one in its])
    prior, least = [t.prior for t in TERMS.values()], [t.least for t in TERMS.values()]
    anchor = Anchor(np.array(row(scope.plain(engine))), seconds)
    experiments = [one.experiment for one in its if one.fits]
    return _learned(
        Rows(counted, beside, logs, sds),
        np.array([one.fits for one in its]),
        [one.name for one in its],
        scope.levels(experiments, engine),
        lambda some: fit(some, prior, least, anchor),
        list(TERMS),
        Rows(own, beside, logs, sds),
    )


def _counted(rows: Array, pages: Sequence[float | None]) -> Array:
    """Rows of terms with the pages that were counted, where they were, instead of those on paper.

    The same experiment faulted 0 times in one worker and 8 800 times in another, which is 18 % of
    its step (JAX): so it is not the other terms that have to tell a cell from its reference.
    """
    place, found = list(TERMS).index("pages"), rows.copy()
    for row, count in enumerate(pages):
        if count is not None:
            found[row, place] = PAGE_UNIT * count
    return found


def _memory(its: Sequence[Held], engine: str) -> Learned:
    rows = Rows(
        np.array([list(memory.parts(one.experiment).values()) for one in its]),
        None,
        np.log([one.peak_bytes for one in its]),
        np.full(len(its), MEMORY_SD),
    )
    prior = list(memory.PARTS.values())
    return _learned(
        rows,
        np.ones(len(its), dtype=bool),
        [one.name for one in its],
        scope.levels([one.experiment for one in its], engine),
        lambda some: fit(some, prior, [0.0] * len(prior), None),
        list(memory.PARTS),
    )


def _learned(
    rows: Rows,
    fits: npt.NDArray[np.bool_],
    names: Sequence[str],
    levels: Mapping[str, dict[str, list[bool]]],
    learn_from: errors.Learn,
    term_names: Sequence[str],
    asked: Rows | None = None,
) -> Learned:
    """Coefficients of the rows that fit, with the errors of all.

    Args:
        levels: of the rows that fit.
        asked: see `errors.by_level`.
    """
    asked = rows if asked is None else asked
    known, wanted = rows.only(fits), asked.only(fits)
    found = learn_from(known)
    left_out = errors.by_level(known, levels, learn_from, wanted)
    places = np.flatnonzero(fits)
    out: dict[int, list[float]] = {}
    for each in left_out:
        out.setdefault(int(places[each.row]), []).append(math.exp(each.error))
    predicted = np.exp(asked.predicted(found))
    compared = [
        Compared(name, math.exp(rows.logs[i]), float(predicted[i]), out.get(i, []), bool(fits[i]))
        for i, name in enumerate(names)
    ]
    half = errors.half_width([each.error for each in left_out])
    return Learned(
        dict(zip(term_names, map(float, found), strict=True)),
        half,
        _errors(wanted.errors(found), left_out),
        compared,
        errors.beyond(left_out, scope.KINDS, half),
    )


def _errors(own: Array, left_out: Sequence[errors.LeftOut]) -> Errors:
    logs, out = [float(e) for e in own], [each.error for each in left_out]
    return Errors(
        cells=len(logs),
        levels=len(out),
        median=errors.quantile(logs, 0.5) or 0.0,
        p90=errors.quantile(logs, 0.9) or 0.0,
        median_out=errors.quantile(out, 0.5),
        p90_out=errors.quantile(out, 0.9),
        coverage=errors.coverage(left_out),
    )
