"""Operations of the products that a profile shows are those of the formulas, to the last one."""

import pytest
from made_engine import BERT, DROPS, build, make_batch
from settled import SMALL

torch = pytest.importorskip("torch")
from cputrain.engines.torch_ import executed, product_work  # noqa: E402
from cputrain.engines.torch_.evidence import profiled, ran  # noqa: E402
from cputrain.knobs.inforce import require  # noqa: E402
from cputrain.model import on_paper, shares  # noqa: E402
from cputrain.model.flops import flops_per_step  # noqa: E402
from cputrain.model.products import LAST  # noqa: E402

BASE = SMALL.but(seq_len=32)
MANUAL = {"attention_backend": "manual"}
KINDS = [
    {},
    {"batch_size": 1, "seq_len": 1024},  # the fused kernel skips keys
    {"n_kv_head": 1, "head_dim": 8},
    {"n_kv_head": 1, "attention": "local", "window": 8, **MANUAL},
    {"n_kv_head": 1, "attention": "sliding", "window": 8, **MANUAL},
    {"attention": "sliding", "window": 8},
    {"attention": "sliding", "window": 32},
    {"architecture": "llama", "activation": "swiglu"},
    {"architecture": "moe"},
    {"architecture": "ssm", "seq_len": 100},
    {"architecture": "gmlp"},
    {"architecture": "lstm"},
    {**BERT, "loss_chunk": 20},
    {"grad_accum": 3, "loss_chunk": 16},
    {"objective": "forward"},
    {"fine_tuning": "lora"},
    {"fine_tuning": "head", "tied": False},
    {"precision": "bf16"},
    {"precision": "mixed", "loss_chunk": 16},
    {"precision": "q8"},
    {"precision": "q8_torchao"},
    {"precision": "bitnet_torchao"},
    {"precision": "q4"},
    {"matmul_backend": "onednn"},
]
AGAIN = [
    {},
    {"attention": "sliding", "window": 8},
    {"architecture": "llama"},
    {"architecture": "moe"},
    {"architecture": "ssm"},
    BERT,
    {"fine_tuning": "lora"},
    {"precision": "q8"},
    {"precision": "bitnet"},
    {"matmul_backend": "onednn"},
    DROPS,
]


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def in_force(experiment):
    engine, batch = build(experiment), make_batch(experiment)
    engine.train_step(*[batch] * experiment.training.grad_accum)
    evidence = engine.evidence(batch)
    require(executed.checks(experiment, evidence))
    return evidence.product_flops


@pytest.mark.parametrize("changes", KINDS, ids=str)
def test_a_right_step_is_in_force(changes):
    experiment = BASE.but(**changes)
    step = flops_per_step(experiment).total
    assert in_force(experiment) * experiment.training.grad_accum == step


@pytest.mark.parametrize("changes", AGAIN, ids=str)
def test_where_blocks_are_computed_again_a_stopped_product_has_begun(changes):
    experiment = BASE.but(activation_checkpointing=True, **changes)
    last = LAST.get(experiment.model.architecture, "mlp.experts.0.proj.weight")
    stops = on_paper.of(experiment).leaves_out(experiment, f"h.1.{last}")
    assert (in_force(experiment) > flops_per_step(experiment).total) == stops


@pytest.mark.parametrize(
    "changes", [{}, {"n_layer": 1}, {"n_layer": 3, "precision": "q8"}, BERT, DROPS], ids=str
)
def test_compiled_the_last_block_alone_is_computed_to_its_end(changes):
    experiment = BASE.but(compile="aot_eager", activation_checkpointing=True, **changes)
    assert in_force(experiment) == flops_per_step(experiment).total


def test_a_product_within_a_product_counts_once():
    class Event:
        def __init__(self, start, end, name, *shapes):
            self._values = start, end, name, shapes

        start_ns, end_ns, name, shapes = (lambda self, i=i: self._values[i] for i in range(4))

    outer = Event(10, 20, "aten::baddbmm", [2, 3, 5], [2, 3, 4], [2, 4, 5])
    inner = [Event(at, at + 1, "aten::addmm", [3, 5], [3, 4], [4, 5]) for at in (12, 15)]
    after = Event(20, 30, "aten::mm", [3, 4], [4, 5])
    assert product_work.executed([after, *inner, outer]) == 2 * 2 * 60 + 2 * 60


def test_nothing_but_products_counts():
    with profiled() as profile:
        torch.ones(3, 4).add_(1).softmax(1)
    assert product_work.executed(ran(profile)) == 0


def test_a_rank_multiplies_its_own_rows():
    experiment = BASE.but(batch_size=4, processes=2)
    rank = shares.of_rank(experiment, 2)
    evidence = build(rank).evidence(make_batch(rank))
    require(executed.checks(experiment, evidence))
    assert product_work.expected(experiment) == flops_per_step(experiment).total // 2


def test_what_inductor_writes_as_loops_is_not_told():
    """A product with a side of one number: of a window of one token, or of one chunk's states."""
    for changes in ({"attention": "local", "window": 1}, {"architecture": "ssm"}):
        experiment = BASE.but(**changes)
        assert product_work.expected(experiment) is not None
        assert product_work.expected(experiment.but(compile="inductor")) is None
