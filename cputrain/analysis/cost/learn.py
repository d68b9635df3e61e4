"""Coefficients of a machine from its cells: `costs.Costs`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cputrain.analysis import identical, moments, places
from cputrain.analysis.cost import errors, memory, observed, scope, updates
from cputrain.analysis.cost.costs import (
    LEVEL,
    Compared,
    Costs,
    DriftAt,
    EngineCosts,
    Errors,
    Learned,
)
from cputrain.analysis.cost.fit import Anchor, Array, Expected, Rows, fit
from cputrain.analysis.cost.observed import HeldBytes, Observation
from cputrain.analysis.cost.terms import PAGE_UNIT, TERMS, Rates, terms
from cputrain.analysis.drift import Moments, learned
from cputrain.analysis.ends import CellRow
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.model import on_paper
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
    at = places.learn(identical.distinct(cell for cell, _ in cells if cell.ok))
    ratios = observed.ratios(cells, moments.at_places(cells, at), at)
    held, far = observed.held(cells), at.far
    engines = {}
    for name in specs.NAMES:
        seconds = observed.reference_s(cells, name)
        of_engine = [ratio for ratio in ratios if ratio.experiment.runtime.engine == name]
        fits = [ratio for ratio in of_engine if ratio.fits]
        if seconds is None or len(fits) < errors.FEWEST:
            continue
        peaks = [peak for peak in held if peak.experiment.runtime.engine == name]
        engines[name] = EngineCosts(
            of_time(of_engine, seconds, rates, name, far),
            _memory(peaks, name) if len(peaks) >= errors.FEWEST else None,
            seconds,
            scope.ranges([*(ratio.experiment for ratio in fits), scope.plain(name)]),
        )
    measured, drift = (rates.peak, rates.bandwidth, rates.threads), _drift(speeds)
    return Costs(*measured, engines, drift, far, rates.cache, facts.memory_bytes or 0)


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
    return Rates(peaks[most], facts.bandwidth[moving], int(most), facts.last_caches or 0)


def of_time(
    ratios: Sequence[Observation], seconds: float, rates: Rates, engine: str, far: float = 0.0
) -> Learned:
    """What an engine's cells tell of the time of a step.

    Args:
        ratios: of its cells; at least one of them fits.
        seconds: of a step of its default experiment.
        far: see `Costs`.
    """

    def row(experiment: Experiment, far: float) -> list[float]:
        return list(terms(experiment, rates, far).values())

    logs, sds = (
        np.array([getattr(ratio, name) for ratio in ratios]) for name in ("log_ratio", "sd")
    )
    own, reference = (
        np.array([row(getattr(ratio, name), ratio.far) for ratio in ratios])
        for name in ("experiment", "reference")
    )
    counted = _counted(own, [ratio.pages for ratio in ratios])
    beside = _counted(reference, [ratio.reference_pages for ratio in ratios])
    expected = _expected(engine)
    anchor = Anchor(np.array(row(scope.plain(engine), far)), seconds)
    experiments = [ratio.experiment for ratio in ratios if ratio.fits]
    return _learned(
        Rows(counted, beside, logs, sds, updates.shares(ratios, counted, engine)),
        np.array([ratio.fits for ratio in ratios]),
        [ratio.name for ratio in ratios],
        scope.levels(experiments, engine),
        lambda subset: fit(subset, expected, anchor),
        list(TERMS),
        Rows(own, beside, logs, sds),
    )


def _expected(engine: str) -> Expected:
    """Of an engine's terms: how long it takes to hand out work depends most on which it is."""
    places = {name: place for place, name in enumerate(TERMS)}
    prior = {name: term.prior for name, term in TERMS.items()}
    prior["dispatch"] *= on_paper.of(scope.plain(engine)).handing_out
    over = {places[name]: places[term.over] for name, term in TERMS.items() if term.over}
    return Expected(list(prior.values()), [term.least for term in TERMS.values()], over)


def _counted(rows: Array, pages: Sequence[float | None]) -> Array:
    """Rows of terms with the pages that were counted, where they were, instead of those on paper.

    The same experiment faulted 0 times in one worker and 8 800 times in another, which is 18 % of
    its step (JAX): so it is not the other terms that have to tell a cell from its reference.
    """
    place, counted = list(TERMS).index("pages"), rows.copy()
    for row, count in enumerate(pages):
        if count is not None:
            counted[row, place] = PAGE_UNIT * count
    return counted


def _memory(peaks: Sequence[HeldBytes], engine: str) -> Learned:
    rows = Rows(
        np.array([list(memory.parts(peak.experiment).values()) for peak in peaks]),
        None,
        np.log([peak.peak_bytes for peak in peaks]),
        np.full(len(peaks), MEMORY_SD),
    )
    expected = Expected(list(memory.PARTS.values()), [0.0] * len(memory.PARTS))
    return _learned(
        rows,
        np.ones(len(peaks), dtype=bool),
        [peak.name for peak in peaks],
        scope.levels([peak.experiment for peak in peaks], engine),
        lambda subset: fit(subset, expected, None),
        list(memory.PARTS),
    )


def _learned(
    rows: Rows,
    fits: npt.NDArray[np.bool_],
    names: Sequence[str],
    levels: Mapping[str, dict[str, list[bool]]],
    learn_from: errors.Learn,
    term_names: Sequence[str],
    to_predict: Rows | None = None,
) -> Learned:
    """Coefficients of the rows that fit, with the errors of all.

    Args:
        levels: of the rows that fit.
        to_predict: see `errors.by_level`.
    """
    to_predict = rows if to_predict is None else to_predict
    known, wanted = rows.only(fits), to_predict.only(fits)
    coefficients = learn_from(known)
    left_out = errors.by_level(known, levels, learn_from, wanted)
    places = np.flatnonzero(fits)
    out: dict[int, list[float]] = {}
    for each in left_out:
        out.setdefault(int(places[each.row]), []).append(math.exp(each.error))
    predicted = np.exp(to_predict.predicted(coefficients))
    compared = [
        Compared(name, math.exp(rows.logs[i]), float(predicted[i]), out.get(i, []), bool(fits[i]))
        for i, name in enumerate(names)
    ]
    half = errors.half_width([each.error for each in left_out])
    return Learned(
        dict(zip(term_names, map(float, coefficients), strict=True)),
        half,
        _errors(wanted.errors(coefficients), left_out),
        compared,
        errors.beyond(left_out, scope.KINDS, half),
    )


def _errors(own: Array, left_out: Sequence[errors.LeftOut]) -> Errors:
    logs, out = [float(e) for e in own], [each.error for each in left_out]
    return Errors(
        cells=len(logs),
        median=errors.quantile(logs, 0.5) or 0.0,
        p90=errors.quantile(logs, 0.9) or 0.0,
        median_out=errors.quantile(out, 0.5),
        p90_out=errors.quantile(out, 0.9),
        coverage=errors.coverage(left_out),
    )
