"""What is read from a compiled step, tried on small ones that have a part or do not."""

import os

import pytest

jax = pytest.importorskip("jax")

from toy_step import LAYERS, compiled  # noqa: E402

from cputrain.engines.jax_ import evidence, hlo  # noqa: E402
from cputrain.engines.jax_.hlo_products import products  # noqa: E402
from cputrain.engines.jax_.schema import Program  # noqa: E402

FORWARD = 5 * LAYERS + 1
"""Products of the toy's forward pass: three layers and two of attention, and the head."""


@pytest.fixture(scope="module")
def plain():
    step, arguments = compiled()
    return step, arguments, evidence.look(step)


def looked(**changes):
    return evidence.look(compiled(**changes)[0])


def test_products_are_three_times_those_of_the_forward_pass(plain):
    _, _, seen = plain
    assert (
        sum(seen.products_by_library.values())
        == 3 * FORWARD
        == sum(seen.products_by_numbers.values())
    )
    assert set(seen.products_by_numbers) == {"f32"}
    assert set(seen.products_by_library) <= {"ynnpack", "xla", "onednn"}


def test_attention_by_jax_is_told_from_attention_by_hand(plain):
    assert plain[2].fused_attention > 0
    assert looked(attention="manual").fused_attention == 0


def test_checkpointing_computes_products_again(plain):
    assert plain[2].computed_again == 0
    seen = looked(again=True)
    assert seen.computed_again >= LAYERS
    assert sum(seen.products_by_library.values()) > sum(plain[2].products_by_library.values())


def test_dropout_draws_random_numbers(plain):
    assert plain[2].random == 0 < looked(dropout=0.1).random


def test_weights_and_both_moments_are_written_in_place(plain):
    step, (weights, state, ids), seen = plain
    numbers = sum(weight.size for weight in weights.values())
    assert seen.donated == 3 * numbers + 1 and seen.not_donated == []  # and a counter
    held = looked(donated=(1,))
    assert held.donated == 2 * numbers + 1
    assert sorted(held.not_donated) == sorted(f"f32{list(w.shape)}" for w in weights.values())
    step(weights, state, ids)
    assert all(weight.is_deleted() for weight in weights.values())


def test_numbers_rounded_to_bf16_are_told():
    kinds = looked(numbers=jax.numpy.bfloat16, attention="manual").products_by_numbers
    assert kinds and all("bf16" in kind for kind in kinds)


def test_fusion_is_loops_of_several_operations(plain):
    seen = plain[2]
    assert 0 < seen.loops_of_several <= seen.loops


def test_a_product_that_moves_to_another_library_is_seen():
    seen = looked(options={"xla_cpu_experimental_ynn_fusion_type": ""})
    assert set(seen.products_by_library) == {"xla"}


def test_compilations_are_counted_by_the_function():
    def counted_here(x):
        return x * 2

    compilations = []
    for size in (3, 4):
        step = jax.jit(counted_here).lower(jax.numpy.ones(size)).compile()
        compilations.append(evidence.look(step).program)
    assert [program.compiled for program in compilations] == [1, 2]
    assert compilations[1] == Program(name="counted_here", compiled=2, hits=0, misses=0)


@pytest.mark.parametrize(
    ("features", "left"),
    [
        ("+64bit,+avx,+avx10.1,+avx2,-avx10.2,-avx512bw,-avx512f,-avx512vl", ["avx", "avx2"]),
        ("+64bit,+avx,+avx10.1,+avx2,-avx10.2", ["avx", "avx10.1", "avx2"]),
        ("+64bit,-avx512f,+avx10.1", ["avx10.1"]),
        ("+64bit,+avx,+avx512f,-xop", ["avx", "avx512f"]),
    ],
)
def test_what_is_taken_away_takes_with_it_what_implies_it(features, left):
    assert evidence.vectors(features) == left


def test_a_release_that_does_not_write_its_target_has_none():
    assert evidence.target(object()) == []


def test_readings_count_xla_s_pool():
    said = evidence.readings()
    threads = os.environ.get("NPROC")
    assert said["pool_threads"] == (int(threads) if threads else len(os.sched_getaffinity(0)))
    assert said["devices"] and said["xla_flags"] == os.environ.get("XLA_FLAGS", "")


WRITTEN = """HloModule jit_made, is_scheduled=true, input_output_alias={ {1}: (0, {}, may-alias) }

%fused (p.0: bf16[4,4], p.1: f32[4,4]) -> f32[4,4] {
  %p.0 = bf16[4,4]{1,0} parameter(0)
  %p.1 = f32[4,4]{1,0} parameter(1)
  %convert.1 = f32[4,4]{1,0} convert(%p.0)
  ROOT %dot.1 = f32[4,4]{1,0} dot(%convert.1, %p.1), lhs_contracting_dims={1}
}

%body (s: (f32[4,4], f32[4,4])) -> (f32[4,4], f32[4,4]) {
  %s = (f32[4,4]{1,0}, f32[4,4]{1,0}) parameter(0)
  %a = f32[4,4]{1,0} get-tuple-element(%s), index=0
  %dot.2 = f32[4,4]{1,0} dot(%a, %a), lhs_contracting_dims={1}, metadata={op_name="x/dot"}
  ROOT %t = (f32[4,4]{1,0}, f32[4,4]{1,0}) tuple(%dot.2, %a)
}

%unused (u: f32[2]) -> f32[2] {
  %u = f32[2]{0} parameter(0)
  ROOT %dot.3 = f32[2]{0} dot(%u, %u)
}

ENTRY %main (x: bf16[4,4], y: f32[4,4]) -> (f32[4,4], f32[4,4]) {
  %x = bf16[4,4]{1,0} parameter(0)
  %y = f32[4,4]{1,0} parameter(1)
  %call.1 = f32[4,4]{1,0} custom-call(%y, %y), custom_call_target="__onednn$matmul"
  %f = f32[4,4]{1,0} fusion(%x, %y), kind=kCustom, calls=%fused, backend_config={"kind":"__ynn_fusion"}
  %both = (f32[4,4]{1,0}, /*index=1*/f32[4,4]{1,0}) tuple(%f, %y)
  %w = (f32[4,4]{1,0}, f32[4,4]{1,0}) while(%both), condition=%unused, body=%body
  %g = f32[4,4]{1,0} get-tuple-element(%w), index=1
  ROOT %out = (f32[4,4]{1,0}, f32[4,4]{1,0}) tuple(%g, %f)
}
"""  # noqa: E501


def test_a_text_with_everything_in_it():
    module = hlo.parse(WRITTEN)
    multiplied = {
        (product.library, product.numbers, product.op_name) for product in products(module)
    }
    assert multiplied == {
        ("onednn", "f32", ""),
        ("ynnpack", "bf16 as f32 x f32", ""),
        ("xla", "f32", "x/dot"),
        ("xla", "f32", ""),
    }
    assert module.name == "jit_made" and module.aliases == {1}
    assert module.outputs() == (("f32", (4, 4)), ("f32", (4, 4)))


def test_what_is_no_program_is_refused():
    with pytest.raises(ValueError, match="ENTRY"):
        hlo.parse("HloModule nothing\n")
