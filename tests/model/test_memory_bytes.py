"""The parts of the estimated memory, by hand; `engines/test_memory_estimate` has the sums."""

import pytest
from settled import settled

from cputrain.model import memory_estimate, shapes

BASE = settled()
MOMENTS = {"adamw": 2, "lion": 1, "sgd": 0}


def of(**changes):
    return memory_estimate.memory_bytes(BASE.but(**changes))


def test_every_parameter_is_there_five_times_over():
    need, weights = of(), 4 * shapes.n_params(BASE)
    assert (need.parameters, need.gradients, need.optimizer) == (2 * weights, weights, 2 * weights)
    parts = (need.activations, need.buffers, need.queue, need.framework)
    assert need.total == 5 * weights + sum(parts)


@pytest.mark.parametrize(("optimizer", "moments"), MOMENTS.items())
def test_state_of_the_optimizers(optimizer, moments):
    need = of(optimizer=optimizer, optimizer_kernel="default")
    assert need.optimizer == moments * need.gradients
    half = of(optimizer=optimizer, optimizer_kernel="default", precision="bf16")
    assert half.optimizer == need.optimizer / 2


@pytest.mark.parametrize("optimizer", ["adamw", "lion", "sgd", "adafactor"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_engine_has_as_much_state(optimizer, precision):
    pytest.importorskip("torch")
    import numpy as np

    from cputrain import engines
    from cputrain.data.batches import Batch
    from cputrain.model.initial import initial_weights

    small = BASE.but(n_layer=1, n_embd=32, n_head=2, seq_len=16, optimizer_kernel="default")
    experiment = small.but(optimizer=optimizer, precision=precision)
    engine = engines.build(experiment, initial_weights(experiment))
    ids = np.ones((1, 16), np.int64)
    engine.train_step(Batch(ids, ids))
    assert memory_estimate.state_bytes(experiment) == engine.state_bytes()


def test_bf16_halves_all_but_the_initial_copy():
    whole, half = of(), of(precision="bf16")
    assert half.parameters == whole.parameters * 3 / 4
    assert half.gradients == whole.gradients / 2
    # Logits stay in fp32.
    assert whole.activations / 2 < half.activations < 0.6 * whole.activations


def test_frozen_weights_have_neither_gradient_nor_state():
    need = of(fine_tuning="lora")
    added = 4 * (8 * (256 + 768) + 8 * (256 + 256))
    assert (need.gradients, need.optimizer) == (4 * added, 8 * added)
    head = of(fine_tuning="head", tied=False)
    assert head.gradients == 4 * 257 * 256
    assert head.activations < need.activations < of().activations


def test_a_forward_pass_keeps_nothing():
    need = of(objective="forward", batch_size=16)
    assert (need.gradients, need.optimizer) == (0, 0)
    assert need.activations < of(batch_size=16).activations / 2
    deep = of(objective="forward", batch_size=16, n_layer=32)
    assert deep.activations == need.activations


def test_accumulation_keeps_one_micro_batch():
    assert of(grad_accum=8) == of()
    assert of(batch_size=8).activations == 8 * of().activations


def test_checkpointed_blocks_keep_their_input_alone():
    deep, deeper = (
        of(n_layer=n, activation_checkpointing=True, batch_size=4).activations for n in (8, 16)
    )
    assert deeper - deep == 8 * 4 * 4 * 256 * 256


def test_chunks_of_the_loss():
    whole = of(vocab_size=32_000, batch_size=4).activations
    chunked = of(vocab_size=32_000, batch_size=4, loss_chunk=64).activations
    # 3 x 1024 rows of logits give way to 3 x 64, and to gradients of the table and of x.
    rows, width = 4 * 256, 256
    assert whole - chunked == 4 * (3 * (rows - 64) * 32_000 - (32_000 + rows) * width)


def test_attention_by_hand_keeps_every_pair():
    by_hand = of(attention_backend="manual", seq_len=1024)
    local = of(attention_backend="manual", seq_len=1024, attention="local", window=128)
    pairs = 4 * 1024 * 1024
    assert by_hand.activations - local.activations == 4 * (pairs - pairs // 8) * (4 + 2)
    dropped = of(attention_backend="manual", seq_len=1024, dropout=0.1)
    masks = 4 * 4 * (2 * pairs + 2 * 1024 * 256)
    assert dropped.activations - by_hand.activations == masks


@pytest.mark.parametrize(
    ("asked", "is_all"), [("default", 0), ("never", 0), ("madvise", 1), ("always", 1)]
)
def test_with_huge_pages_own_c_touches_all_of_attention(asked, is_all):
    own = {"engine": "native", "attention_backend": "manual", "seq_len": 4096, "n_layer": 2}
    small, huge = (settled(**own, huge_pages=pages) for pages in ("default", asked))
    # Rows of 4096 in pages of 1024: the first quarter of them leaves three untouched, and so on.
    untouched = 4 * 2 * 4 * 1024 * 1024 * (3 + 2 + 1)
    more = memory_estimate.memory_bytes(huge).total - memory_estimate.memory_bytes(small).total
    assert more == is_all * untouched


def test_buffers():
    assert of().buffers == 0
    assert of(attention_backend="manual").buffers == 256 * 256
    assert of(architecture="llama").buffers == 256 * 64 * 4
    sliding = of(attention="sliding", window=64)
    assert sliding.buffers == 64 * 128 * 4


def test_the_queue_of_a_streaming_loader():
    assert of(loader="stream").queue == 0
    queue = of(loader="stream", loader_workers=2, loader_queue=8, batch_size=3).queue
    assert queue == 8 * 3 * 256 * 2 * 8


def test_the_widest_value():
    assert 3.2e9 < of(n_embd=2048, n_head=32).total < 5e9
