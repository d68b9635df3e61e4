"""What a compiled program multiplies and draws, read from its text."""

import pytest

pytest.importorskip("jax")

from cputrain.engines.jax_ import hlo, hlo_work

LOOP = """HloModule jit_made, is_scheduled=true

%body (s: (f32[2,4,8], f32[2,8,4])) -> (f32[2,4,8], f32[2,8,4]) {
  %s = (f32[2,4,8]{2,1,0}, f32[2,8,4]{2,1,0}) parameter(0)
  %a = f32[2,4,8]{2,1,0} get-tuple-element(%s), index=0
  %b = f32[2,8,4]{2,1,0} get-tuple-element(%s), index=1
  %dot.1 = f32[2,4,4]{2,1,0} dot(%a, %b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}
  %k = u64[2]{0} constant({1, 2})
  %drawn = (u64[2]{0}, u32[2,4]{1,0}) call(%k), to_apply=%rng, metadata={op_name="jit(step)/part-attention/rng_bit_generator"}
  ROOT %t = (f32[2,4,8]{2,1,0}, f32[2,8,4]{2,1,0}) tuple(%a, %b)
}

%rng (k.1: u64[2]) -> (u64[2], u32[2,4]) {
  %k.1 = u64[2]{0} parameter(0)
  ROOT %bits = (u64[2]{0}, u32[2,4]{1,0}) fusion(%k.1), kind=kLoop, calls=%made
}

%made (k.2: u64[2]) -> (u64[2], u32[2,4]) {
  ROOT %k.2 = u64[2]{0} parameter(0)
}

%goes_on (c: (f32[2,4,8], f32[2,8,4])) -> pred[] {
  ROOT %c = (f32[2,4,8]{2,1,0}, f32[2,8,4]{2,1,0}) parameter(0)
}

%fused (p.0: f32[3,8], p.1: f32[8,5]) -> f32[3,5] {
  %p.0 = f32[3,8]{1,0} parameter(0)
  %p.1 = f32[8,5]{1,0} parameter(1)
  ROOT %dot.2 = f32[3,5]{1,0} dot(%p.0, %p.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

ENTRY %main (x: f32[3,8], y: f32[8,5], z: (f32[2,4,8], f32[2,8,4])) -> f32[3,5] {
  %x = f32[3,8]{1,0} parameter(0)
  %y = f32[8,5]{1,0} parameter(1)
  %z = (f32[2,4,8]{2,1,0}, f32[2,8,4]{2,1,0}) parameter(2)
  %w = (f32[2,4,8]{2,1,0}, f32[2,8,4]{2,1,0}) while(%z), condition=%goes_on, body=%body, backend_config={"known_trip_count":{"n":"3"}}
  ROOT %f = f32[3,5]{1,0} fusion(%x, %y), kind=kCustom, calls=%fused, backend_config={"kind":"__ynn_fusion"}
}
"""  # noqa: E501
ONE, IN_LOOP = 2 * 3 * 5 * 8, 2 * 2 * 4 * 4 * 8


def test_what_a_loop_does_counts_as_often_as_it_runs():
    module = hlo.parse(LOOP)
    assert hlo_work.operations(module) == ONE + 3 * IN_LOOP
    assert hlo_work.side_by_side(module) == [2]
    assert hlo_work.drawn(module) == 3 * 8


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"known_trip_count":{"n":"3"}', ""),
        ("get-tuple-element(%s), index=1", 'custom-call(%s), custom_call_target="__onednn$matmul"'),
        ("while(%z)", "unheard-of(%z)"),
    ],
    ids=["trips", "library", "unknown"],
)
def test_what_the_text_does_not_tell_is_not_guessed(old, new):
    assert LOOP.count(old) == 1
    assert hlo_work.operations(hlo.parse(LOOP.replace(old, new))) is None


def test_functions_are_those_of_activations_alone():
    def path(of):
        return hlo.parse(LOOP.replace("jit(step)/part-attention/rng_bit_generator", of))

    assert hlo_work.functions(path("jit(step)/part-attention/exp")) is None
    assert hlo_work.functions(path("jit(step)/part-elementwise/rsqrt")) == []
    assert hlo_work.functions(path("a/part-head/tanh;a/part-elementwise/erf")) == ["erf"]
    assert hlo_work.functions(path("a/jvp(part-elementwise)/jit(silu)/exp")) == ["silu"]
