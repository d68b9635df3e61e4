"""Whose noise a cell's interval has."""

import math

import numpy as np
import pytest
from made_project import beside, change_sample, steps, worker
from msgspec.structs import replace
from settled import settled

from cputrain.analysis import counted as counting
from cputrain.analysis import noises
from cputrain.analysis.counted import counted
from cputrain.analysis.noises import NoiseKey
from cputrain.record.cell import CellKey
from cputrain.record.noise import Noise
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
    assert known.of(beside_torch, counted(beside_torch.workers)) is jax.noise


def test_an_engine_without_identical_cells_has_none(rng):
    alone = cell("Framework", "numpy", "numpy", rng, base="torch")
    cells = [*identical(rng), cell("Framework", "torch", "torch", rng, base="torch"), alone]
    assert noises.learn(cells).of(alone, counted(alone.workers)) is None


@pytest.mark.parametrize("is_torch_there", [True, False])
def test_engines_measured_again_have_the_noise_of_earlier_sessions(rng, is_torch_there):
    """Framework alone, or its cell of jax: no other cell of the new session has that engine."""
    earlier = identical(rng)
    torch_session = "T" if is_torch_there else "S"
    torch = cell("Framework", "torch", "torch", rng, base="torch", session=torch_session)
    again = cell("Framework", "jax", "jax", rng, base="torch", session="T")
    known = noises.learn([*earlier, torch, again])
    noise = known.of(again, counted(again.workers))
    assert noise is not None, "no interval, though A/A passes of both engines are there"
    assert noise is known.learned[NoiseKey("T", "jax")].noise
    assert noise.identical == 2
    assert noise.worker == pytest.approx(known.learned[NoiseKey("S", "jax")].noise.worker, rel=0.2)
    assert known.learned[NoiseKey("T", "jax")].pairs.pairs == 0, "its own pairs tell none"


def test_another_session_s_identical_cells_tell_what_workers_are_apart_by(rng):
    later = cell("Heads", "2", "torch", rng, session="T")
    known = noises.learn([*identical(rng), later])
    assert known.of(later, counted(later.workers)).identical == 8
    assert known.learned[NoiseKey("T", "torch")].pairs.pairs == 6


def loaders(how_many, rng, scatter=0.08):
    """Cells of torch whose blocks scatter so much, compared by whole steps; a pass each."""
    made = []
    for number in range(how_many):
        slow = cell("Loader", str(number), "torch", rng, base="none", passes=1)
        for index, sample in enumerate(slow.workers[0].samples):
            factor = math.exp(scatter * rng.standard_normal())
            change_sample(slow.workers[0], index, step_s=[factor * s for s in sample.step_s])
        made.append(slow)
    return made


def without_held_up_time(cells):
    """The same cells, whose blocks' held-up time is known: nothing."""
    for own in (worker_ for cell_ in cells for worker_ in cell_.workers):
        for index, sample in enumerate(own.samples):
            change_sample(own, index, held_up_s=[0.0] * len(sample.step_s))
            pair = own.pairs[index]
            known = replace(pair.reference, held_up_s=[0.0] * len(pair.reference.step_s))
            own.pairs[index] = replace(pair, reference=known)
    return cells


def test_pairs_of_whole_steps_have_the_noise_of_their_own_sort(rng):
    net, whole = without_held_up_time(identical(rng)), loaders(6, rng)
    known = noises.learn([*net, *whole])
    calm, noisy = (known.of(cell_, counted(cell_.workers)) for cell_ in (net[0], whole[0]))
    assert 0.005 < calm.block < 0.02 < 0.05 < noisy.block < 0.13
    assert (calm.worker, calm.identical) == (noisy.worker, noisy.identical)
    assert known.learned[NoiseKey("S", "torch")].noise is calm
    alone = noises.learn(net).learned[NoiseKey("S", "torch")].noise
    assert calm.block == pytest.approx(alone.block, rel=1e-9)


def test_of_few_pairs_of_one_sort_all_tell_the_noise(rng):
    net, whole = without_held_up_time(identical(rng)), loaders(noises.ENOUGH_CELLS - 1, rng)
    learned = noises.learn([*net, *whole]).learned[NoiseKey("S", "torch")]
    assert learned.of_sort("whole") is learned.noise
    assert learned.noise.block > noises.learn(net).learned[NoiseKey("S", "torch")].noise.block


@pytest.mark.parametrize("side", ["cell", "reference"])
def test_pairs_with_many_page_faults_on_either_side_have_the_noise_of_their_own_sort(rng, side):
    calm, noisy = without_held_up_time(identical(rng)), without_held_up_time(loaders(6, rng))
    alone = noises.learn(calm).learned[NoiseKey("S", "torch")].noise
    mixed = noises.learn([*calm, *noisy])
    of_calm = mixed.of(calm[0], counted(calm[0].workers)).block
    assert of_calm > 1.2 * alone.block, "the cells do not differ enough for this test"
    for own in (cell_.workers[0] for cell_ in noisy):
        for pair in range(len(own.pairs)):
            fault(own, pair, side, counting.MANY_FAULTS)
    apart = noises.learn([*calm, *noisy])
    assert apart.of(calm[0], counted(calm[0].workers)).block == pytest.approx(alone.block, rel=1e-9)
    assert apart.of(noisy[0], counted(noisy[0].workers)).block > 0.05


def fault(own, index, side, per_s):
    """Have a block of a pair with so many page faults a second."""
    pair = own.pairs[index]
    noise = {"wall_s": 2.0, "minor_faults": round(2.0 * per_s)}
    if side == "cell":
        change_sample(own, index, noise=noise)
    else:
        own.pairs[index] = replace(pair, reference=replace(pair.reference, noise=Noise(**noise)))


def test_pages_are_counted_over_the_wall_time_of_the_block(rng):
    own = cell("Loader", "1", "torch", rng, base="none", passes=1).workers[0]
    for index, per_s in enumerate((100, 300, 50_000)):
        fault(own, index, "cell", per_s)
        fault(own, index, "reference", 200)
    assert (counted([own]).faults_per_s, counted([own]).sort) == (300, "whole")
