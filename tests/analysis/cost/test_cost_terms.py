"""What parts of a step cost on paper beside their operations: shapes, blocks, bytes, memory."""

import pytest
from settled import settled

from cputrain.analysis.cost import attention_work, memory, moved, product_work
from cputrain.analysis.cost.terms import Rates, terms
from cputrain.model import shapes
from cputrain.model.flops import flops_per_step
from cputrain.model.shapes import n_params

pytestmark = pytest.mark.tools

THREADS = 2


def test_thin_products_wait_for_more_numbers_an_operation():
    """[256, C] by [C, V]; with two dimensions of 64 it were 1."""
    for width in (64, 256):
        experiment = settled(n_layer=1, n_embd=width, n_head=1, mlp_ratio=1, vocab_size=80_000)
        of_head = 32 * (1 / 256 + 1 / width + 1 / 80_000)
        ratio = product_work.narrow(experiment, THREADS) / flops_per_step(experiment).matmul
        assert ratio == pytest.approx(of_head, rel=0.02)


@pytest.mark.parametrize("engine", ["torch", "native", "numpy"])
def test_many_blocks_are_counted_as_one_and_each_costs_the_same(engine, monkeypatch):
    asked, of_gpt, rates = set(), shapes.BLOCKS["gpt"], Rates(150e9, 30e9, THREADS)
    monkeypatch.setitem(shapes.BLOCKS, "gpt", lambda e: asked.add(e.model.n_layer) or of_gpt(e))
    one, two, many = (terms(settled(engine=engine, n_layer=n), rates) for n in (1, 2, 1002))
    assert asked == {1, 2}
    for name in ("products", "narrow", "far", "attention", "weights", "optimizer", "dispatch"):
        assert many[name] - two[name] == pytest.approx(1000 * (two[name] - one[name])), name


def test_products_that_fit_a_core_s_cache_are_not_far():
    small = settled(n_embd=64, n_head=1, seq_len=64)
    assert product_work.far(small, THREADS) == 0
    far = [product_work.far(e, THREADS) / flops_per_step(e).matmul for e in map(_wide, (256, 1024))]
    assert far[1] - far[0] == pytest.approx(2 * 2 * product_work.DOUBLING, rel=0.3)


def test_waiting_is_counted_with_the_products_of_own_c_alone():
    """A head of 8000: with 64 tokens the gradient by its input has one tile in each chunk."""
    shape = {"n_layer": 1, "n_embd": 256, "n_head": 4, "vocab_size": 8000, "seq_len": 64}
    torch, native = settled(**shape), settled(engine="native", **shape)
    work = flops_per_step(native).matmul
    assert product_work.products(torch, THREADS) == pytest.approx(flops_per_step(torch).matmul)
    of_head = 2 * 64 * 256 * 8000
    waits = product_work.products(native, THREADS) - work
    assert waits == pytest.approx(of_head, rel=0.03)  # and half a tile of its forward pass
    assert product_work.products(native, 1) == pytest.approx(work, rel=0.001)
    for of in (product_work.narrow, product_work.far):
        assert of(native, THREADS) > 1.05 * of(native, 1)


def _wide(width):
    return settled(n_embd=width, n_head=width // 64, seq_len=width, n_layer=2)


@pytest.mark.parametrize(
    ("fields", "times"),
    [
        ({}, 1.0),  # 4 heads of keys
        ({"n_head": 8, "n_kv_head": 1}, 12 / 7),  # all of the backward pass is one thread's
        ({"n_head": 8, "n_kv_head": 1, "batch_size": 2}, 1.0),
        ({"n_embd": 384, "n_head": 3}, (2 + 5 * 4 / 3) / 7),  # two heads and one
        ({"n_head": 1, "objective": "forward"}, 1.0),
        ({"n_head": 1, "attention_backend": "manual"}, 1.0),
        ({"n_head": 1, "attention": "local", "window": 128}, 1.0),
    ],
)
def test_threads_wait_where_heads_do_not_divide_among_them(fields, times):
    assert attention_work.uneven(settled(**fields), THREADS) == pytest.approx(times)


@pytest.mark.parametrize(
    ("fields", "blocks"),
    [
        ({"seq_len": 128}, 4),  # of 32 queries
        ({"seq_len": 256}, 4),  # of 64
        ({"seq_len": 1024}, 1 + 1 + 2 + 2),  # of 256, keys by 512
        ({"seq_len": 1024, "attention": "local", "window": 128}, 8 * 4),
        ({"seq_len": 1024, "attention": "sliding", "window": 512}, 8 + 8 * 2),
    ],
)
def test_products_of_blocks_are_those_of_the_kernel(fields, blocks):
    experiment = settled(n_layer=3, n_head=4, batch_size=2, **fields)
    assert attention_work.block_products(experiment) == 7 * 3 * 4 * 2 * blocks
    forward = experiment.but(objective="forward")
    assert attention_work.block_products(forward) == 2 * 3 * 4 * 2 * blocks
    assert attention_work.block_products(settled(attention_backend="manual")) == 0


@pytest.mark.parametrize(("engine", "passes"), [("torch", 4), ("jax", 1)])
def test_what_is_computed_again_is_handed_out_by_torch_at_the_cost_of_four_passes(engine, passes):
    rates = Rates(peak=1e11, bandwidth=1e10, threads=THREADS)
    kept, again = (
        terms(settled(engine=engine, n_layer=5, activation_checkpointing=on), rates)["dispatch"]
        for on in (False, True)
    )
    assert again - kept == pytest.approx(1e-6 * 5 * passes)


def test_llama_s_norms_are_operators_one_by_one():
    llama = settled(architecture="llama", n_layer=1)
    turned = 4 * 256 * 6 * 2 * 256 * 2  # bytes: tokens, numbers of q and k, both passes
    norms = 4 * 256 * 3 * 5 * 256
    difference = moved.elementwise(llama) - moved.elementwise(settled(n_layer=1)) - turned
    assert difference == pytest.approx((moved.RMS_NORM - 1) * norms)


def test_sliding_attention_copies_queries_keys_and_values():
    shape = {"seq_len": 1024, "n_layer": 1}
    sliding = moved.elementwise(settled(attention="sliding", window=128, **shape))
    assert sliding - moved.elementwise(settled(**shape)) == 4 * 1024 * (4 + 8) * 256 * 2


def test_a_token_table_s_gradient_is_made_and_summed_where_arrays_are_allocated():
    tied, untied = (settled(tied=tied, vocab_size=8000) for tied in (True, False))
    table = 4 * 8000 * 256
    assert moved.weights(tied) - moved.weights(untied) == (4 - 1 - 3) * table
    native = settled(engine="native", vocab_size=8000)
    assert moved.weights(tied) - moved.weights(native) == 4 * table


@pytest.mark.parametrize(("engine", "numbers"), [("torch", 3), ("jax", 3), ("native", 1)])
def test_gradients_are_added_in_every_micro_batch_but_the_first(engine, numbers):
    one, four = (settled(engine=engine, grad_accum=count) for count in (1, 4))
    added = 4 * 3 * numbers * n_params(one)
    assert moved.weights(four) - 4 * moved.weights(one) == added


def test_weights_beyond_the_last_cache_cost_more_and_their_update_does_not():
    """Numbers of the update do not change `uncached`; what it holds of the cache does."""
    small, large = (settled(n_layer=1, vocab_size=v) for v in (1000, 32_000))
    rates = Rates(peak=1e11, bandwidth=1e10, threads=THREADS, cache=32 << 20)
    assert terms(small, rates)["uncached"] == 0
    of_large = terms(large, rates)
    held = 4 * 4 * n_params(large)  # weights, gradients, two moments
    share = 1 - rates.cache / held
    assert of_large["uncached"] == pytest.approx(share * of_large["weights"])


def test_own_c_s_threads_read_what_a_far_cpu_packed():
    rates = Rates(peak=1e11, bandwidth=1e10, threads=THREADS)
    native = settled(engine="native")
    near, half, far = (terms(native, rates, share) for share in (0.0, 0.5, 1.0))
    assert near["across"] == 0
    assert far["across"] == 2 * half["across"] == far["elementwise"] + far["weights"]
    assert terms(settled(), rates, 1.0)["across"] == 0


def test_logits_below_what_is_mapped_by_itself_stay_in_the_heap():
    """A step with logits of 33 MB had a higher peak than one of 51 MB."""
    rows = 32 * 2**20 // 4 // 256
    below, above = (memory.parts(settled(vocab_size=v)) for v in (rows - 1, rows))
    assert below["heap"] == 4 * 256 * (rows - 1)
    assert above["heap"] == 0
    assert memory.parts(settled(engine="native"))["heap"] == 0
    tied, untied = (memory.parts(settled(tied=t))["weights"] for t in (True, False))
    assert untied - tied == (5 - 2) * 4 * 257 * 256  # five of its own, for two of the sum
