import functools
import importlib.util

import numpy as np
import pytest
from settled import SMALL

from cputrain.data.batches import IGNORE, Batch
from cputrain.machine import compilers


def make_batch(experiment, seed=0, ignored=5):
    """Random tokens; the last `ignored` targets of the last sequence do not count."""
    training = experiment.training
    shape = (training.batch_size, training.seq_len + 1)
    ids = np.random.default_rng(seed).integers(0, experiment.model.vocab_size, shape)
    targets = ids[:, 1:].copy()
    if ignored:
        targets[-1, -ignored:] = IGNORE
    return Batch(np.ascontiguousarray(ids[:, :-1]), targets)


@pytest.fixture
def small():
    return SMALL


@pytest.fixture(params=["torch-sdpa", "torch-manual", "numpy-manual", "native-manual", "jax-sdpa"])
def each(request):
    """The small experiment on every engine and attention."""
    engine, attention = request.param.split("-")
    if engine in ("torch", "jax"):
        pytest.importorskip(engine)
    if engine == "native" and not compilers.is_here("gcc"):
        pytest.skip("gcc is not installed")
    compiler = "xla" if engine == "jax" else "eager"
    return SMALL.but(engine=engine, compile=compiler, attention_backend=attention)


@pytest.fixture(scope="module")
def compiled_once():
    """JAX engines of equal experiments share their programs, which take seconds to compile."""
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("jax") is not None:
            from cputrain.engines.jax_ import engine

            patch.setattr(engine, "Steps", functools.cache(engine.Steps))
        yield


@pytest.fixture
def batch_of():
    return make_batch
