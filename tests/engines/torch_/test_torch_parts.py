"""Which part each operator of an eager step is of, forward and backward."""

from collections import Counter

import pytest
from settled import settled

from cputrain import engines
from cputrain.model.initial import initial_weights

torch = pytest.importorskip("torch")

from torch.profiler import ProfilerActivity, profile, record_function  # noqa: E402

from cputrain.engines.torch_.evidence import PRODUCTS  # noqa: E402
from cputrain.engines.torch_.executed import attention  # noqa: E402
from cputrain.engines.torch_.parts import STEP, Attributed, marked  # noqa: E402

SMALL = {"n_layer": 3, "n_embd": 32, "n_head": 2, "seq_len": 24, "batch_size": 3}
LAYERS = SMALL["n_layer"]


class Counted(Attributed):
    """Counts all operators by part, those that others call too: `operators`."""

    def __init__(self, events):
        self.operators = {}
        super().__init__(events)

    def count(self, event, part):
        super().count(event, part)
        waiting = [event]
        while waiting:
            operator = waiting.pop()
            self.operators.setdefault(part, Counter())[operator.name] += 1
            waiting += operator.cpu_children


def counted(batch_of, **changes):
    """The operators of a step by part."""
    experiment = settled(**(SMALL | changes))
    engine = engines.build(experiment, initial_weights(experiment))
    batches = [batch_of(experiment, seed) for seed in range(experiment.training.grad_accum)]
    engine.train_step(*batches)
    profiled = profile(activities=[ProfilerActivity.CPU])
    with marked(engine.module), profiled as run, record_function(STEP):
        engine.train_step(*batches)
    return Counted(run.events()).operators


def products(operators):
    """Matrix products by part, where there are any."""
    by_part = {part: sum(counts[name] for name in PRODUCTS) for part, counts in operators.items()}
    return {part: count for part, count in by_part.items() if count}


@pytest.fixture
def plain(batch_of):
    return counted(batch_of)


@pytest.mark.parametrize("micro_batches", [1, 2])
@pytest.mark.parametrize("tied", [True, False])
def test_every_product_is_where_it_belongs(batch_of, micro_batches, tied):
    """Each layer's once forward and twice backward; the fused kernel has none of its own."""
    operators = counted(batch_of, grad_accum=micro_batches, tied=tied)
    expected = {"products": LAYERS * 4 * 3 * micro_batches, "head": 3 * micro_batches}
    assert products(operators) == expected


def test_attention_by_hand_has_its_own_products(batch_of):
    """Two forward, four backward."""
    operators = counted(batch_of, attention_backend="manual")
    assert products(operators) == {"products": LAYERS * 4 * 3, "head": 3, "attention": 6 * LAYERS}


def test_the_fused_kernel_is_attention_s_alone(plain):
    (whole,) = attention(settled(**SMALL), sum(plain.values(), Counter()))
    assert whole.ok
    for part, operators in plain.items():
        (check,) = attention(settled(**SMALL), operators)
        assert check.actual == (whole.actual if part == "attention" else 0), part


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, set()),
        ({"optimizer_kernel": "default"}, {"optimizer"}),
        ({"optimizer_kernel": "foreach"}, {"optimizer"}),
        ({"attention_backend": "manual"}, {"attention"}),
        ({"activation": "relu"}, {"elementwise"}),
        ({"activation": "silu"}, {"elementwise"}),
        ({"loss_chunk": 24}, {"head", "embedding"}),  # which sums the gradients of the shared table
        ({"n_layer": 4}, {"products", "attention", "elementwise", "optimizer"}),
        ({"tied": False}, {"embedding", "elementwise", "optimizer"}),
    ],
    ids=lambda value: " ".join(sorted(map(str, value))) or "none",
)
def test_a_change_of_the_experiment_changes_the_operators_of_its_parts_alone(
    plain, batch_of, changes, parts
):
    operators = counted(batch_of, **changes)
    assert operators.keys() == plain.keys()
    assert {part for part in plain if operators[part] != plain[part]} == parts


def test_layers_are_in_proportion(plain, batch_of):
    """What a block has grows by as much with each; products and attention have nothing beside."""
    fewer, more = counted(batch_of, n_layer=2), counted(batch_of, n_layer=4)
    for part in plain:
        sizes = [sum(operators[part].values()) for operators in (fewer, plain, more)]
        assert sizes[1] - sizes[0] == sizes[2] - sizes[1], part
    for part in ("products", "attention"):
        assert {name: count * LAYERS for name, count in fewer[part].items()} == {
            name: count * 2 for name, count in plain[part].items()
        }


def test_micro_batches_repeat_all_parts_but_the_update(plain, batch_of):
    """And sums of gradients come on top."""
    twice = counted(batch_of, grad_accum=2)
    assert twice["optimizer"] == plain["optimizer"]
    for part in plain.keys() - {"optimizer"}:
        assert sum(twice[part].values()) > sum(plain[part].values()), part
    for part in ("products", "attention", "embedding"):
        assert twice[part] == plain[part] + plain[part]


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
