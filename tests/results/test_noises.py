"""Whose noise a cell's interval has."""

import math

import numpy as np
import pytest
from made_project import beside, steps, worker
from settled import settled

from cputrain.analysis import noises
from cputrain.analysis.noises import NoiseKey
from cputrain.record.cell import CellKey
from cputrain.results.rows import CellResult

pytestmark = pytest.mark.tools

ENGINES = {
    "torch": settled(),
    "jax": settled(engine="jax", compile="xla", attention_backend="manual"),
    "numpy": settled(engine="numpy", attention_backend="manual"),
}


def cell(suite, value, engine, rng, worker_effect=0.002, base="A", passes=2, session="S"):
    """A cell whose workers are this far from their references."""
    key = CellKey(suite, (value,), ("engine",), baseline=base)
    made = []
    for _ in range(passes):
        apart = math.exp(worker_effect * rng.standard_normal())
        own = worker(ENGINES[engine], steps(0.04 * apart, rng, 0.0), session=session)
        made.append(beside(own, 0.04, rng))
    experiment = ENGINES[engine].to_json()
    return CellResult("here", key, value, "full", "ok", None, 0.04, tuple(made), experiment)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def identical(rng, **others):
    """A/A cells of torch, and of jax, whose workers are further apart."""
    cells = [cell("Baseline", name, "torch", rng, **others) for name in "ABCD"]
    return cells + [
        cell("Jax", name, "jax", rng, worker_effect=0.05, base=name, **others) for name in "A"
    ]


def test_each_engine_learns_from_its_own(rng):
    learned = noises.learn(identical(rng)).learned
    assert set(learned) == {NoiseKey("S", "torch"), NoiseKey("S", "jax")}
    torch, jax = (learned[NoiseKey("S", name)].noise for name in ("torch", "jax"))
    assert (torch.identical, jax.identical) == (8, 2)
    assert jax.worker > torch.worker


def test_a_cell_beside_another_engine_has_the_noisier_of_the_two_and_teaches_nothing(rng):
    cells = identical(rng)
    before = noises.learn(cells).learned[NoiseKey("S", "jax")]
    beside_torch = cell("Framework", "jax", "jax", rng, worker_effect=1.0, base="torch")
    cells += [cell("Framework", "torch", "torch", rng, base="torch"), beside_torch]
    known = noises.learn(cells)
    assert known.references["Framework/jax"] == "torch"
    jax = known.learned[NoiseKey("S", "jax")]
    assert (jax.noise.worker, jax.pairs.pairs) == (before.noise.worker, before.pairs.pairs)
    assert known.of(beside_torch) is jax.noise


def test_an_engine_without_identical_cells_has_none(rng):
    alone = cell("Framework", "numpy", "numpy", rng, base="torch")
    cells = [*identical(rng), cell("Framework", "torch", "torch", rng, base="torch"), alone]
    assert noises.learn(cells).of(alone) is None


def test_another_session_s_identical_cells_tell_what_workers_are_apart_by(rng):
    later = cell("Heads", "2", "torch", rng, session="T")
    known = noises.learn([*identical(rng), later])
    assert known.of(later).identical == 8
    assert known.learned[NoiseKey("T", "torch")].pairs.pairs == 6
