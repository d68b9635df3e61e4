"""The counts against torch's own counter, which watches the operators of a real step."""

import numpy as np
import pytest
from settled import settled

from cputrain.data.batches import IGNORE, Batch
from cputrain.experiment.rules import WITH_ATTENTION
from cputrain.model.flops import flops_per_step
from cputrain.model.initial import initial_weights

torch = pytest.importorskip("torch")

from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count  # noqa: E402

SMALL = settled(
    n_layer=2, n_embd=32, n_head=4, seq_len=64, batch_size=3, attention_backend="manual"
)
BERT = {"architecture": "bert", "objective": "masked", "vocab_size": 258}


def fused_forward(q, k, v, *args, out_shape=None, **kwargs):
    return sdpa_flop_count(q, k, v)


def fused_backward(grad, q, k, v, *args, out_shape=None, **kwargs):
    return 5 * sdpa_flop_count(q, k, v) // 2


def product(a, b, *args, out_shape=None, **kwargs):
    return 2 * a[0] * a[1] * b[1]


def added_product(c, a, b, *args, out_shape=None, **kwargs):
    return product(a, b)


def lstm_forward(x, w_input, w_recurrent, *args, out_shape=None, **kwargs):
    (tokens, batch, width), (rows, cells) = x, w_recurrent
    return 2 * tokens * batch * rows * (width + cells)


def lstm_backward(*args, out_shape=None, **kwargs):
    return 2 * lstm_forward(*args)


aten = torch.ops.aten
UNKNOWN_TO_IT = {
    aten._int_mm: product,
    aten.addmm_: added_product,
    aten.mkldnn_rnn_layer: lstm_forward,
    aten.mkldnn_rnn_layer_backward: lstm_backward,
    aten._scaled_dot_product_flash_attention_for_cpu: fused_forward,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: fused_backward,
}


def counted(experiment):
    """FLOP of one whole step of the engine, by operator."""
    from cputrain import engines

    shape = (experiment.training.batch_size, experiment.training.seq_len)
    rng = np.random.default_rng(0)
    ids, targets = rng.integers(0, 257, shape), rng.integers(0, 257, shape)
    batch = Batch(ids, targets)
    if experiment.training.objective == "masked_node":
        is_node = np.arange(shape[1]) % 2 == 1
        relations = np.where(is_node, rng.integers(1, 13, shape), 0)
        batch = Batch(ids, targets, relations, np.where(is_node, targets, IGNORE))
    engine = engines.build(experiment, initial_weights(experiment))
    with FlopCounterMode(display=False, custom_mapping=UNKNOWN_TO_IT) as counter:
        engine.train_step(*[batch] * experiment.training.grad_accum)
    return {str(op): n for op, n in counter.get_flop_counts()["Global"].items()}


# With the fused kernel too: what changes attention, or how often it is computed.
OF_ATTENTION = [
    {},
    {"grad_accum": 3},
    {"n_kv_head": 2},
    {"n_kv_head": 1, "head_dim": 16},
    {"architecture": "llama", "activation": "swiglu", "tied": False},
    {"architecture": "moe"},
    BERT | {"objective": "masked_node", "tied": False},
    {"attention": "local", "window": 16},
    {"attention": "sliding", "window": 16, "architecture": "llama"},
    {"attention": "sliding", "window": 64},
    {"objective": "forward"},
    {"activation_checkpointing": True},
    BERT | {"activation_checkpointing": True},
    {"fine_tuning": "head", "tied": False},
    {"fine_tuning": "lora", "activation_checkpointing": True, "architecture": "llama"},
    {"precision": "q8_torchao", "activation_checkpointing": True},
    {"precision": "bf16"},
    {"precision": "mixed"},
]
OTHERS = [
    {"activation": "swiglu", "mlp_ratio": 3},
    {"tied": False},
    {"architecture": "ssm"},
    {"architecture": "ssm", "seq_len": 100},
    {"architecture": "gmlp"},
    {"architecture": "lstm"},
    BERT,
    BERT | {"tied": False, "loss_chunk": 50},
    {"objective": "forward", "loss_chunk": 50},
    {"dropout": 0.1},
    {"loss_chunk": 100},
    {"activation_checkpointing": True, "dropout": 0.1},
    {"activation_checkpointing": True, "architecture": "llama"},
    {"activation_checkpointing": True, "architecture": "moe"},
    {"activation_checkpointing": True, "architecture": "ssm"},
    {"activation_checkpointing": True, "architecture": "gmlp"},
    {"fine_tuning": "full"},
    {"fine_tuning": "head", "tied": False, "loss_chunk": 64},
    {"fine_tuning": "lora"},
    {"fine_tuning": "lora", "tied": False, "loss_chunk": 64},
    {"precision": "q8"},
    {"precision": "q8", "activation_checkpointing": True},
    {"precision": "q8_torchao"},
    {"precision": "bitnet_torchao"},
    {"precision": "mixed", "loss_chunk": 64},
    {"precision": "q4", "activation_checkpointing": True},
    {"precision": "bitnet", "activation_checkpointing": True},
]


@pytest.mark.parametrize(
    ("changes", "backend"),
    [
        *((changes, "sdpa") for changes in OF_ATTENTION),
        *((changes, "manual") for changes in OF_ATTENTION + OTHERS),
    ],
    ids=str,
)
def test_products_are_those_that_torch_counts(changes, backend):
    experiment = SMALL.but(**changes, attention_backend=backend)
    step, by_op = flops_per_step(experiment), counted(experiment)
    assert step.total == sum(by_op.values())
    if experiment.model.architecture in WITH_ATTENTION:
        inside = "flash" if backend == "sdpa" else "bmm"
        assert step.attention == sum(n for op, n in by_op.items() if inside in op)
    assert step.by_type.get("int8", 0) == by_op.get("aten._int_mm", 0)
    assert sum(step.by_type.values()) == step.total
