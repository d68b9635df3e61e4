"""Which part each instruction of JAX's step is of, and what several at once take."""

import pytest
from settled import SIZES, settled

from cputrain import engines
from cputrain.model.initial import initial_weights

pytest.importorskip("jax")

from cputrain.engines.jax_ import hlo, hlo_products
from cputrain.engines.jax_.parts import Span, by_instruction, shared
from cputrain.engines.jax_.scopes import part_of


def test_moments_are_shared_among_what_runs_in_them():
    spans = [Span(0, 4e9, "a"), Span(2e9, 6e9, "b"), Span(3e9, 4e9, "c"), Span(8e9, 9e9, "a")]
    whole = shared(spans, lambda name: name)
    assert whole == pytest.approx({"a": 2 + 0.5 + 1 / 3 + 1, "b": 0.5 + 1 / 3 + 2, "c": 1 / 3})
    together = shared(spans, lambda _: "all")
    assert together == pytest.approx({"all": 7})  # nothing ran from 6 to 8


@pytest.mark.parametrize(
    "path, part",
    [
        ("jit(step)/jvp(part-products)/dot_general", "products"),
        ("jit(step)/transpose(jvp(part-head/part-products))/dot_general", "head"),
        ("jit(step)/transpose(jvp())/part-embedding/scatter-add", "embedding"),
        ("jit(step)/mul", None),
        ("", None),
    ],
)
def test_the_outermost_name_in_a_path_counts(path, part):
    assert part_of(path) == part


@pytest.mark.parametrize("attention", ["manual", "sdpa"])
def test_products_of_a_real_step_are_of_their_parts(batch_of, attention):
    experiment = settled(engine="jax", attention_backend=attention, **SIZES)
    engine = engines.build(experiment, initial_weights(experiment))
    engine.train_step(batch_of(experiment))
    module = hlo.parse(engine.compiled["step"].as_text())
    parts = by_instruction(module)
    multiplied = len(hlo_products.products(module))
    layers = SIZES["n_layer"]
    assert multiplied == layers * (4 * 3 + 6) + 3
    products = [
        parts.get(name)
        for computation in module.executed()
        for name, instruction in computation.instructions.items()
        if "dot" in _opcodes(module, instruction)
    ]
    assert products.count("products") == layers * 4 * 3
    assert products.count("attention") == layers * 6
    assert products.count("head") == 3
    working = [
        name
        for computation in module.executed()
        for name, instruction in computation.instructions.items()
        if instruction.opcode in ("fusion", "dot", "copy")
    ]
    unnamed = [name for name in working if name not in parts]
    assert len(unnamed) < 0.05 * len(working), unnamed
    assert {"embedding", "elementwise", "optimizer"} <= {*parts.values()}


def _opcodes(module, instruction):
    inside = [
        inner.opcode
        for called in (instruction.called if instruction.opcode == "fusion" else ())
        for inner in module.computations[called].instructions.values()
    ]
    return {instruction.opcode, *inside}
