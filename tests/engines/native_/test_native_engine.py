"""What the native engine refuses, and what it tells of itself."""

import subprocess
import sys

import numpy as np
import pytest
from native_engine import needs_gcc
from settled import settled

from cputrain import engines
from cputrain.data.batches import IGNORE, Batch
from cputrain.engines import EngineError
from cputrain.engines.native_ import library_build
from cputrain.engines.native_.binding import Functions
from cputrain.machine import mapped
from cputrain.model import initial, native

pytestmark = needs_gcc
SMALL = settled(
    engine="native", attention_backend="manual", n_layer=2, n_embd=32, n_head=2, seq_len=24
)


@pytest.fixture
def engine():
    return engines.build(SMALL, initial.initial_weights(SMALL))


@pytest.mark.parametrize(
    "inputs, targets, what",
    [
        (np.zeros((1, 23), int), np.zeros((1, 23), int), "shape"),
        (np.zeros((2, 24), int), np.zeros((2, 24), int), "shape"),
        (np.zeros((1, 24), int), np.zeros((1, 23), int), "shape"),
        (np.full((1, 24), 257), np.zeros((1, 24), int), "vocabulary has 257"),
        (np.full((1, 24), -1), np.zeros((1, 24), int), "vocabulary has 257"),
        (np.zeros((1, 24), int), np.full((1, 24), 300), "vocabulary has 257"),
        (np.zeros((1, 24), int), np.full((1, 24), -7), "vocabulary has 257"),
    ],
)
def test_a_bad_batch_is_refused_and_changes_nothing(engine, inputs, targets, what):
    before = engine.weights()
    for call in (engine.train_step, engine.loss, engine.gradients):
        with pytest.raises(EngineError, match=what):
            call(Batch(inputs, targets))
    assert engine.steps_done == 0
    after = engine.weights()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_targets_that_are_all_ignored_have_no_loss_and_no_gradient(engine):
    nothing = Batch(np.zeros((1, 24), int), np.full((1, 24), IGNORE))
    assert np.isnan(engine.loss(nothing))
    assert not any(gradient.any() for gradient in engine.gradients(nothing).values())


@pytest.mark.parametrize("level", ["O0", "O2", "Ofast"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "name", ["h.0.ln_2.bias", "h.1.mlp.fc.weight", "h.0.attn.qkv.weight", "head.weight"]
)
def test_what_is_not_a_number_is_in_the_loss(batch_of, level, sign, name):
    """Also where relu would make 0 of it, and of one logit that no target asks for."""
    experiment = SMALL.but(activation="relu", tied=False, cc_level=level)
    weights, batch = initial.initial_weights(experiment), batch_of(experiment)
    unasked = min(set(range(experiment.model.vocab_size)) - set(batch.targets.ravel()))
    weights[name][unasked % len(weights[name])] = np.copysign(np.float32(np.nan), sign)
    assert np.isnan(engines.build(experiment, weights).loss(batch))


def test_batches_of_any_layout_are_taken(engine, batch_of):
    batch = batch_of(SMALL)
    other = Batch(np.asfortranarray(batch.inputs.astype(np.int32)), batch.targets[:, ::-1][:, ::-1])
    assert engine.loss(other) == engine.loss(batch)


def test_an_update_needs_gradients(engine, batch_of):
    with pytest.raises(EngineError, match="without gradients"):
        engine.update()
    engine.train_step(batch_of(SMALL))
    with pytest.raises(EngineError, match="without gradients"):
        engine.update()


def test_what_it_says_of_itself(engine):
    readings = engine.readings()
    assert readings["library"] == str(library_build.library(SMALL).resolve())
    assert readings["cc_version"].startswith("GCC ")
    assert readings["openmp"] in mapped.openmp_runtimes()
    assert readings["openmp_threads"] == readings["openmp_team"] > 0
    assert readings["flush_to_zero"] in (False, None)
    assert readings["blas"] is None
    assert engine.versions()["cc_version"] == readings["cc_version"]


def test_small_numbers_are_not_flushed_to_zero(engine):
    """-Ofast would have it for the whole process."""
    tiny = np.full(8, 1e-39, np.float32)
    assert (tiny * np.float32(0.5) != 0).all()


def test_flushing_is_seen(engine):
    library = Functions(str(library_build.library(SMALL)))
    if library.flush_to_zero() < 0:
        pytest.skip("this processor has no MXCSR")
    numbers = np.full(1, 1e-39, np.float32)
    torch = pytest.importorskip("torch")
    if not torch.set_flush_denormal(True):
        pytest.skip("torch cannot set it here")
    try:
        assert numbers * np.float32(0.5) == 0
        assert library.flush_to_zero() == 1
    finally:
        torch.set_flush_denormal(False)
    assert library.flush_to_zero() == 0


@pytest.mark.parametrize("given", ["static", "static,1", "dynamic", "dynamic,4", "guided"])
def test_the_schedule_is_read_back(given):
    code = (
        "from cputrain.engines.native_ import about, binding, library_build;"
        "from cputrain.experiment import Experiment;"
        "e = Experiment().but(engine='native', attention_backend='manual');"
        "print(about.schedule(binding.Functions(str(library_build.library(e)))))"
    )
    env = {"OMP_SCHEDULE": given, "PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    said = {given, f"{given},1"}  # libgomp's chunk of dynamic and guided is 1 where none is given
    assert done.stdout.strip() in said, done.stderr


def test_pairs_are_those_of_blocks():
    assert native.pairs(1) == 1
    assert native.pairs(64) == 64 * 64
    assert native.pairs(65) == 64 * 64 + 65
    assert native.pairs(256) == 64 * (64 + 128 + 192 + 256)


def test_products_are_counted(engine, batch_of):
    evidence = engine.evidence(batch_of(SMALL))
    assert evidence.products_by_library == {"own": 3 * (4 * 2 + 1) + 2 * 2 * 6}
    assert evidence.library_calls == 0
