"""What the native engine really executed is what was asked, by counts of its own."""

import numpy as np
import pytest
from msgspec import structs
from toy_sources import COMPILERS, NATIVE, why_no

from cputrain import engines, paths
from cputrain.data.batches import Batch
from cputrain.engines import executed
from cputrain.engines.native_.executed import products as native_products
from cputrain.engines.native_.knobs import compiler
from cputrain.knobs import matmul
from cputrain.knobs.inforce import NotInForce, require
from cputrain.machine import library_search
from cputrain.model.initial import initial_weights

pytest.importorskip("threadpoolctl")
pytestmark = pytest.mark.skipif("gcc" not in COMPILERS, reason=str(why_no("gcc")))
SMALL = NATIVE.but(n_layer=1, n_embd=32, n_head=2, cc_level="O2")


@pytest.fixture(scope="module", autouse=True)
def own_state(tmp_path_factory):
    """Libraries are built in a folder of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "STATE", tmp_path_factory.mktemp("state"))
        yield


def evidence(experiment):
    training = experiment.training
    ids = np.zeros((training.batch_size, training.seq_len), np.int64)
    engine = engines.build(experiment, initial_weights(experiment))
    return engine.evidence(Batch(ids, ids)), engine.readings()


@pytest.mark.parametrize(
    "changes",
    [
        {"seq_len": 16},
        {"seq_len": 64, "batch_size": 2},
        {"seq_len": 200, "n_layer": 2, "tied": False},
        {"seq_len": 330, "n_head": 4},
    ],
    ids=str,
)
def test_all_products_are_counted(changes):
    experiment = SMALL.but(**changes)
    shown, _ = evidence(experiment)
    require(executed.checks(experiment, shown))
    assert shown.products_by_library == {"own": native_products(experiment)}


def test_a_library_that_was_not_asked_for_is_found(monkeypatch):
    if (reason := library_search.why_not("openblas")) is not None:
        pytest.skip(reason)
    monkeypatch.setenv(matmul.VARIABLE, str(library_search.find("openblas")))
    experiment = SMALL.but(matmul_backend="openblas", seq_len=100)
    shown, readings = evidence(experiment)
    require(executed.checks(experiment, shown))
    assert readings["blas"]["threads"] == 1
    for other in ("default", "mkl"):
        with pytest.raises(NotInForce, match="matrix products by library"):
            require(executed.checks(experiment.but(matmul_backend=other), shown))
    few = structs.replace(shown, library_calls=3)
    with pytest.raises(NotInForce, match="calls of another library"):
        require(executed.checks(experiment, few))
    own, _ = evidence(SMALL)
    with pytest.raises(NotInForce, match="matrix products by library"):
        require(executed.checks(SMALL.but(matmul_backend="openblas"), own))
    with pytest.raises(NotInForce, match="calls of another library: asked for 0, found 1"):
        require(executed.checks(SMALL, structs.replace(own, library_calls=1)))


def test_flushing_denormal_numbers_is_found():
    _, readings = evidence(SMALL)
    require(compiler.small_numbers(readings))
    with pytest.raises(NotInForce, match="denormal numbers flushed to zero"):
        require(compiler.small_numbers(readings | {"flush_to_zero": True}))
    assert compiler.small_numbers(readings | {"flush_to_zero": None}) == []
