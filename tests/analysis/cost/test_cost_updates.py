"""Updates that were timed by themselves tell what they cost, of a made machine."""

import dataclasses
import math

import numpy as np
import pytest
from made_costs import RATES, TRUE, design, observations

from cputrain.analysis.cost import learn, updates
from cputrain.analysis.cost.observed import Observation
from cputrain.analysis.cost.scope import plain
from cputrain.analysis.cost.terms import TERMS, terms

pytestmark = pytest.mark.tools

CACHED = dataclasses.replace(RATES, cache=1 << 40)
"""All weights are in the cache: then nothing but micro-batches tells them from their update."""
SLOW = TRUE | {"weights": 12.0, "across": 1.0}
"""Weights that cost eight times as much as is expected, and an update that does not."""


def seconds(experiment):
    counted = terms(experiment, CACHED)
    return {name: SLOW[name] * counted[name] for name in SLOW}


def native_cells(timed):
    """The design of own C; the update of the first cell was not timed."""
    shapes = [shape.but(engine="native", attention_backend="manual") for shape in gpts()]
    reference = plain("native")
    for i, shape in enumerate(shapes):
        its, whole = seconds(shape), math.fsum(seconds(shape).values())
        log = math.log(whole / math.fsum(seconds(reference).values()))
        share = its["optimizer"] / whole if timed and i else None
        yield Observation(f"Made/{i}", shape, reference, log, 0.01, update_share=share)


def gpts():
    return [e for e in design() if e.model.architecture == "gpt" and e.training.grad_accum == 1]


def test_an_update_that_was_timed_is_told_from_the_weights():
    """Without several micro-batches both have as many numbers in every cell."""
    reference_s = math.fsum(seconds(plain("native")).values())
    timed, not_timed = (
        learn.of_time(list(native_cells(was)), reference_s, CACHED, "native").coefficients
        for was in (True, False)
    )
    assert timed["optimizer"] == pytest.approx(SLOW["optimizer"], rel=0.05)
    assert timed["weights"] == pytest.approx(SLOW["weights"], rel=0.15)
    assert not_timed["optimizer"] > 2 * SLOW["optimizer"]


def test_torch_s_updates_are_not_told_by_their_bytes_alone():
    cells = [dataclasses.replace(cell, update_share=0.1) for cell in observations(design())]
    counted = np.array([list(terms(cell.experiment, RATES).values()) for cell in cells])
    assert updates.shares(cells, counted, "torch") is None
    native = list(native_cells(timed=True))
    counted = np.array([list(terms(cell.experiment, RATES).values()) for cell in native])
    rows = updates.shares(native, counted, "native")
    assert np.isnan(rows.logs[0]) and np.isfinite(rows.logs[1:]).all()
    place = list(TERMS).index("optimizer")
    assert (rows.terms[:, place] == counted[:, place]).all()
    assert not np.delete(rows.terms, place, axis=1).any()
