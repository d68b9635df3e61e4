"""Inductor: its own code, with and without fusion, from a cold and from a warm cache.

Cold and warm are processes of their own, as caches are the process's.
"""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from settled import settled

from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.engines.torch_ import executed
from cputrain.engines.torch_.schema import TorchEvidence
from cputrain.knobs.inforce import require
from cputrain.model import initial
from cputrain.record.part import typed

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not any(shutil.which(c) for c in ("g++", "clang++", "c++")), reason="no C++ compiler"
)

TINY = settled(n_layer=1, n_embd=16, n_head=2, seq_len=8, batch_size=2)
STEPS = 3
CHILD = """
import json, sys
import numpy as np
from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.experiment import Experiment
from cputrain.model.initial import initial_weights
from cputrain.record import files

experiment = Experiment.from_json(json.loads(sys.argv[1]))
engine = engines.build(experiment, initial_weights(experiment))
rows = np.array(json.loads(sys.argv[2]))
losses = [engine.train_step(Batch(x, y)) for x, y in rows]
seen = [engine.evidence(Batch(*rows[0])) for _ in range(2)]
engine.gradients(Batch(*rows[0]))
losses.append(engine.loss(Batch(*rows[0])))
print(files.encode([losses, *seen, engine.evidence(Batch(*rows[0]))]).decode())
"""
ROWS = np.random.default_rng(0).integers(0, 257, (STEPS, 2, 2, 8))


def run(folder):
    """Losses and the last evidence of a fresh process with this cache."""
    experiment = TINY.but(compile="inductor")
    words = [
        sys.executable,
        "-c",
        CHILD,
        json.dumps(experiment.to_json()),
        json.dumps(ROWS.tolist()),
    ]
    # The second is that it compiles no trial programs.
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder), "TORCHINDUCTOR_VEC_ISA_OK": "1"}
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    losses, first, second, last = json.loads(done.stdout.splitlines()[-1])
    assert first == second == last  # looking compiles nothing
    return losses, typed(TorchEvidence, last)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder, moved = tmp_path_factory.mktemp("cold"), tmp_path_factory.mktemp("moved") / "code"
    run_by_state = {"cold": run(folder)}
    shutil.copytree(folder, moved)
    shutil.rmtree(folder)
    run_by_state["warm"] = run(moved)
    return run_by_state


@pytest.mark.parametrize("name", ["cold", "warm"])
def test_its_own_code_does_the_same_work(runs, name):
    losses, evidence = runs[name]
    eager = engines.build(TINY, initial.initial_weights(TINY))
    expected = [eager.train_step(Batch(x, y)) for x, y in ROWS]
    assert losses == pytest.approx([*expected, eager.loss(Batch(*ROWS[0]))], rel=1e-3)
    assert (evidence.graphs, evidence.graph_breaks, evidence.recompiles) == (1, 0, 0)
    assert evidence.backend_called
    assert evidence.inductor_kernels > 5
    require(executed.attention(TINY, evidence.ops))
    assert not evidence.checkpointed
    assert evidence.fused is (True if name == "cold" else None)  # warm, nothing is decided


def test_a_warm_cache_gives_all_of_the_code(runs):
    """In another process, and even where its folder has moved meanwhile."""
    (_, cold), (_, warm) = runs["cold"], runs["warm"]
    assert cold.cache_hits == 0
    assert cold.cache.fxgraph_misses == 2  # forward and backward
    assert cold.cache.autograd_misses == 1
    assert warm.cache_hits == 3
    assert warm.cache.fxgraph_hits == 2
    assert warm.cache.autograd_hits == 1
    for evidence in (cold, warm):
        assert evidence.cache.fxgraph_bypasses == evidence.cache.autograd_bypasses == 0
    assert warm.inductor_loops == cold.inductor_loops


def test_without_fusion_there_are_more_loops(tmp_path, monkeypatch):
    import torch

    from cputrain.engines.torch_.compile import Compilation
    from cputrain.engines.torch_.evidence import operators, profiled

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    module = torch.nn.Sequential(torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Softmax(1))
    by_fusion, x = {}, torch.rand(8, 16)
    for fusion in (True, False):
        torch._dynamo.reset()
        runtime = TINY.but(compile="inductor", fusion=fusion).runtime
        compilation = Compilation(module, runtime, trains=False)
        with torch.no_grad():
            compilation.function(x)
            with profiled() as profile:
                y = compilation.function(x)
            assert torch.allclose(y, module(x), atol=1e-6)
        by_fusion[fusion] = compilation.evidence(operators(profile))
        assert by_fusion[fusion]["fused"] == fusion
        assert by_fusion[fusion]["backend_called"]
        assert by_fusion[fusion]["cache_hits"] == 0
    torch._dynamo.reset()
    loops = {fusion: compiled["inductor_loops"] for fusion, compiled in by_fusion.items()}
    assert loops[False] >= loops[True] + 3


@pytest.mark.parametrize(
    ("code", "loops"),
    [
        ("", 0),
        ("for(int i=0; i<3; i+=1) { for(int j=0; j<3; j+=1) { a; } b; }", 1),
        ("{ for(;;) { if (x) { a; } for(;;) { b; } } for(;;) { c; } }", 2),
        ("#pragma omp for\n for (;;)\n{ a; }\n { { b; } } for(;;) { }", 2),
        ("wait_for(x); {before(1);} for(;;) {}", 1),
    ],
)
def test_outer_loops_are_counted(code, loops):
    from cputrain.engines.torch_.compile import outer_loops

    assert outer_loops(code) == loops
