"""The counts of operations against the matrix products in the program that XLA compiled."""

import math
import re

import numpy as np
import pytest
from settled import settled

from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.engines import executed
from cputrain.model.flops import flops_per_step
from cputrain.model.initial import initial_weights

pytest.importorskip("jax")

SMALL = settled(
    engine="jax",
    compile="xla",
    n_layer=1,
    n_embd=32,
    n_head=4,
    seq_len=64,
    batch_size=3,
    attention_backend="manual",
)
DOT = re.compile(r"= (\w+)\[([\d,]*)\]\S* dot\(%?(\S+?), .*?lhs_contracting_dims=\{([\d,]*)\}")
KNOWN = re.compile(r'known_trip_count[^}]*?"n":"(\d+)"')


def counted(text, computation=None):
    """Operations of the dots that a computation runs, by the numbers that are multiplied."""
    bodies = {}
    for block in re.split(r"\n(?=\S)", text):
        name = re.match(r"(ENTRY )?%?([\w.\-]+) \(", block)
        if name is None:
            continue
        bodies[name[2]] = block
        if name[1] and computation is None:
            computation = name[2]
    return _in(bodies, computation)


def _in(bodies, name):
    shapes = dict(re.findall(r"%([\w.\-]+) = \(?(\w+\[[\d,]*\])", bodies[name]))
    flops_by_kind = {}
    for line in bodies[name].splitlines():
        if match := DOT.search(line):
            kind, sizes = re.match(r"(\w+)\[([\d,]*)\]", shapes[match[3].lstrip("%")]).groups()
            sizes = [int(size) for size in sizes.split(",")]
            inner = math.prod(sizes[int(place)] for place in match[4].split(","))
            result = math.prod(int(size) for size in match[2].split(",") if size)
            flops_by_kind[kind] = flops_by_kind.get(kind, 0) + 2 * result * inner
            continue
        times = int(known[1]) if (known := KNOWN.search(line)) else 1
        for inside in re.findall(r"(?:calls|to_apply|body)=%([\w.\-]+)", line):
            for kind, flops in _in(bodies, inside).items():
                flops_by_kind[kind] = flops_by_kind.get(kind, 0) + times * flops
    return flops_by_kind


def in_step(experiment):
    ids = np.zeros((experiment.training.batch_size, experiment.training.seq_len), np.int64)
    engine = engines.build(experiment, initial_weights(experiment))
    checks = executed.checks(experiment, engine.evidence(Batch(ids, ids)))
    assert {c.name for c in checks if not c.ok} <= {"compilations of the step"}  # one of several
    return counted(engine.compiled["step"].as_text())


@pytest.mark.parametrize(
    "changes",
    [
        {"attention_backend": "sdpa", "n_layer": 3},
        {"n_kv_head": 1, "head_dim": 16, "activation": "swiglu", "mlp_ratio": 3, "tied": False},
        {"grad_accum": 3, "attention": "local", "window": 16},
        {"attention": "sliding", "window": 16, "attention_backend": "sdpa", "n_kv_head": 2},
        {"activation_checkpointing": True, "dropout": 0.1},
        {"activation_checkpointing": True, "attention_backend": "sdpa", "grad_accum": 2},
    ],
    ids=str,
)
def test_products_are_those_of_the_program(changes):
    experiment = SMALL.but(**changes)
    assert in_step(experiment) == {"f32": flops_per_step(experiment).total}


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "bf16", "activation_checkpointing": True, "n_kv_head": 2},
        {"precision": "mixed", "attention_backend": "sdpa"},
        {"precision": "bf16", "attention_backend": "sdpa", "activation_checkpointing": True},
    ],
    ids=str,
)
def test_products_are_of_the_numbers_that_are_told(changes):
    experiment = SMALL.but(**changes)
    told = flops_per_step(experiment).by_type
    assert in_step(experiment) == {"f32": told["fp32"], "bf16": told["bf16"]}
