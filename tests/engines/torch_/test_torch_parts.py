"""Which part each operator of an eager step is of, forward and backward."""

from collections import Counter

import pytest
from settled import settled

from cputrain import engines
from cputrain.model.initial import initial_weights

torch = pytest.importorskip("torch")

from torch.profiler import ProfilerActivity, profile, record_function  # noqa: E402

from cputrain.engines.torch_.evidence import PRODUCTS  # noqa: E402
from cputrain.engines.torch_.parts import STEP, Attributed, marked  # noqa: E402

SMALL = {"n_layer": 3, "n_embd": 32, "n_head": 2, "seq_len": 24, "batch_size": 3}


class Named(Attributed):
    """Counts the names of all operators by part."""

    def __init__(self, events):
        self.names = {}
        super().__init__(events)

    def count(self, event, part):
        super().count(event, part)
        waiting = [event]
        while waiting:
            one = waiting.pop()
            self.names.setdefault(part, Counter())[one.name] += 1
            waiting += one.cpu_children


def operators(batch_of, micro_batches=1, **changes):
    experiment = settled(grad_accum=micro_batches, **SMALL, **changes)
    engine = engines.build(experiment, initial_weights(experiment))
    batches = [batch_of(experiment, seed) for seed in range(micro_batches)]
    engine.train_step(*batches)
    profiled = profile(activities=[ProfilerActivity.CPU])
    with marked(engine.module), profiled as run, record_function(STEP):
        engine.train_step(*batches)
    return Named(run.events()).names


def of(names, *operators):
    return sum(names[operator] for operator in operators)


@pytest.mark.parametrize("micro_batches", [1, 2])
@pytest.mark.parametrize("tied", [True, False])
def test_every_operator_is_where_it_belongs(batch_of, micro_batches, tied):
    names = operators(batch_of, micro_batches, tied=tied)
    layers, times = SMALL["n_layer"], micro_batches
    # Each layer once forward and twice backward.
    assert of(names["products"], *PRODUCTS) == times * layers * 4 * 3
    assert of(names["head"], *PRODUCTS) == times * 3
    fused = "aten::_scaled_dot_product_flash_attention_for_cpu"
    assert of(names["attention"], fused, f"{fused}_backward") == times * layers * 2
    assert of(names["attention"], *PRODUCTS) == 0
    for name, count in {
        "aten::native_layer_norm": 2 * layers + 1,
        "aten::native_layer_norm_backward": 2 * layers + 1,
        "aten::gelu": layers,
        "aten::gelu_backward": layers,
    }.items():
        assert names["elementwise"][name] == times * count
    assert names["embedding"]["aten::embedding"] == times
    assert names["embedding"]["aten::embedding_dense_backward"] == times
    assert names["head"]["aten::_log_softmax"] == times
    assert names["head"]["aten::_log_softmax_backward_data"] == times
    assert names["optimizer"]["aten::_fused_adamw_"] == 1
    others = {"aten::embedding", "aten::gelu", "aten::_fused_adamw_", *PRODUCTS}
    assert not others & names.get("framework", Counter()).keys()


def test_attention_by_hand_has_its_own_products(batch_of):
    names = operators(batch_of, attention_backend="manual")
    # Two forward, four backward.
    assert of(names["attention"], "aten::bmm") == 6 * SMALL["n_layer"]
    assert names["attention"]["aten::_softmax"] == SMALL["n_layer"]
    assert of(names["products"], *PRODUCTS) == SMALL["n_layer"] * 4 * 3


def test_nothing_is_left_of_the_marks(batch_of):
    experiment = settled(**SMALL)
    engine = engines.build(experiment, initial_weights(experiment))
    with marked(engine.module):
        assert any(module._forward_hooks for module in engine.module.modules())
    hooks = [
        hook
        for module in engine.module.modules()
        for hook in (*module._forward_hooks, *module._forward_pre_hooks)
    ]
    assert hooks == []
