"""What the JAX engine does beside the same work: dropout, precision, optimizers, memory."""

import numpy as np
import pytest
from settled import settled

from cputrain import engines
from cputrain.engines import EngineError
from cputrain.engines.numpy_.activations import PLAIN
from cputrain.experiment import activations as lines
from cputrain.model.initial import initial_weights

jax = pytest.importorskip("jax")

from cputrain.engines.jax_ import engine, layers, optimizers  # noqa: E402
from cputrain.engines.jax_.options import options  # noqa: E402

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("compiled_once")]

SMALL = settled(
    engine="jax",
    compile="xla",
    n_layer=1,
    n_embd=32,
    n_head=2,
    seq_len=24,
    batch_size=2,
    attention_backend="manual",
    optimizer_kernel="default",
)


def build(experiment):
    return engines.build(experiment, initial_weights(experiment))


def test_dropout_drops_its_share_and_scales_up_the_rest():
    x = np.ones((400, 250), np.float32)
    dropped = np.array(layers.drop(x, 0.2, jax.random.key(0, impl="rbg")))
    assert (dropped == 0).mean() == pytest.approx(0.2, abs=0.01)
    assert np.unique(dropped) == pytest.approx([0, 1.25])
    assert layers.drop(x, 0.2, None) is x


@pytest.mark.parametrize("fusion", [True, False])
def test_its_share_is_read_from_the_compiled_step(batch_of, fusion):
    experiment = SMALL.but(dropout=0.3, activation_checkpointing=True, fusion=fusion)
    assert build(experiment).evidence(batch_of(experiment)).dropped == [0.3]


def test_dropout_is_by_the_seed_and_looking_takes_no_random_numbers(batch_of):
    experiment = SMALL.but(dropout=0.2)
    batch, (mine, twin) = batch_of(experiment), (build(experiment), build(experiment))
    losses = []
    for _ in range(3):
        assert mine.loss(batch) == mine.loss(batch)
        mine.gradients(batch)
        assert mine.evidence(batch).dropped == [0.2]
        losses.append(mine.train_step(batch))
        assert losses[-1] == twin.train_step(batch)
    assert build(experiment.but(seed=1)).train_step(batch) not in losses
    start = mine.weights()
    assert mine.train_step(batch) != mine.train_step(batch)
    mine.load_weights(start)
    plain = build(SMALL)
    plain.load_weights(start)
    assert mine.loss(batch) == pytest.approx(plain.loss(batch), rel=1e-6)


def test_checkpointing_keeps_less_and_gives_the_same_gradients(batch_of):
    experiment = SMALL.but(n_layer=4, n_embd=64, seq_len=128, dropout=0.1)
    batch, gradients, kept = batch_of(experiment), [], []
    for again in (False, True):
        mine = build(experiment.but(activation_checkpointing=again))
        gradients.append(mine.gradients(batch))
        kept.append(mine.compiled["accumulate"].memory_analysis().temp_size_in_bytes)
    assert kept[1] < 0.6 * kept[0]
    for name, gradient in gradients[0].items():
        assert np.abs(gradients[1][name] - gradient).max() <= 1e-5 * np.abs(gradient).max() + 1e-9


@pytest.mark.parametrize("precision", ["bf16", "mixed"])
def test_a_precision_is_near_fp32_and_not_the_same(precision, batch_of):
    experiment, batch = SMALL.but(precision=precision), batch_of(SMALL)
    mine, wide = build(experiment), build(SMALL)
    gradients, expected = mine.gradients(batch), wide.gradients(batch)
    assert mine.loss(batch) == pytest.approx(wide.loss(batch), rel=0.01)
    for name in ("wte", "h.0.mlp.fc.weight", "h.0.attn.qkv.weight"):
        size = np.abs(expected[name]).max()
        assert 1e-4 * size < np.abs(gradients[name] - expected[name]).max() < 0.1 * size
    before = mine.weights()
    for _ in range(30):
        mine.train_step(batch)
    assert mine.loss(batch) < wide.loss(batch)
    moved = {name for name, array in mine.weights().items() if (array != before[name]).any()}
    assert moved | mine.excused().keys() == before.keys()
    size = 2 if precision == "bf16" else 4
    assert mine.state_bytes() == 2 * size * sum(array.size for array in before.values())
    narrow = np.array(jax.numpy.asarray(before["wte"], "bfloat16"), np.float32)
    assert (narrow == before["wte"]).all() == (precision == "bf16")


@pytest.mark.parametrize("name", ["adamw", "sgd", "lion"])
def test_an_optimizer_does_what_torchs_does(name):
    torch = pytest.importorskip("torch")
    from cputrain.engines.torch_ import optimizers as torchs

    experiment = SMALL.but(optimizer=name, lr_warmup_steps=3, learning_rate=0.01)
    rng, mine = np.random.default_rng(0), optimizers.make(experiment.training)
    weights = {"w": rng.standard_normal(5000, np.float32)}
    parameter = torch.nn.Parameter(torch.from_numpy(weights["w"].copy()))
    theirs = torchs.make(experiment.but(engine="torch", compile="eager"), [parameter])
    state = mine.init(weights)
    for step in range(1, 7):
        gradient = rng.standard_normal(5000, np.float32)
        parameter.grad = torch.from_numpy(gradient.copy())
        torchs.set_rate(theirs, experiment.training, step)
        theirs.step()
        weights, state = optimizers.step(mine, weights, state, {"w": gradient})
        assert np.abs(np.array(weights["w"]) - parameter.detach().numpy()).max() < 1e-5
        assert {int(count) for count in optimizers.counters(state)} == {step}


def test_weights_and_state_are_written_where_they_stood(batch_of):
    mine, batch = build(SMALL), batch_of(SMALL)
    mine.train_step(batch)

    def places():
        held = jax.tree.leaves((mine._weights, mine.state))
        return {x.unsafe_buffer_pointer() for x in held if x.nbytes > 4}

    before = places()
    mine.weights()
    mine.loss(batch)
    mine.train_step(batch)
    assert places() == before


@pytest.mark.parametrize(
    "changes", [{}, {"optimizer": "lion"}, {"grad_accum": 2}, {"precision": "bf16"}]
)
def test_the_step_s_own_program_tells_gradients_and_loss_and_trains_nothing(
    changes, batch_of, monkeypatch
):
    # Each engine has programs of its own here.
    monkeypatch.setattr(engine, "Steps", getattr(engine.Steps, "__wrapped__", engine.Steps))
    experiment = SMALL.but(**changes)
    mine, twin, batch = build(experiment), build(experiment), batch_of(experiment)
    mine.train_step(*[batch] * experiment.training.grad_accum)
    before = mine.weights()
    twin.load_weights(before)
    gradients, expected = mine.gradients(batch), twin.gradients(batch)
    assert mine.loss(batch) == pytest.approx(twin.loss(batch), rel=1e-3)
    assert "accumulate" not in mine.compiled and "step" not in twin.compiled
    for name, gradient in expected.items():
        assert np.abs(gradients[name] - gradient).max() <= 0.02 * np.abs(gradient).max() + 1e-9
        assert np.array_equal(mine.weights()[name], before[name])
    assert mine.steps_done == 1


@pytest.mark.parametrize("name", PLAIN)
def test_an_activation_is_numpys(name):
    x = np.linspace(-6, 6, 997, dtype=np.float32)
    y, slope = np.empty_like(x), np.empty_like(x)
    PLAIN[name](x, y, slope)
    values_and_slopes = jax.vmap(
        jax.value_and_grad(lambda number: layers.activation(name, number))
    )(x)
    assert np.abs(np.array(values_and_slopes) - (y, slope)).max() < 1e-5


def test_an_activation_that_jax_has_not_is_refused_in_one_line(monkeypatch):
    monkeypatch.setitem(lines.ACTIVATIONS, "odd", lambda F, x: F.threshold(x, 0.1, 20))
    with pytest.raises(EngineError, match=r"activation = 'odd': .*threshold"):
        layers.activation("odd", np.ones(3))


def test_blocks_of_temporary_numbers_only_where_they_serve():
    name = "xla_multiheap_size_constraint_per_heap"
    assert name in options(SMALL)
    assert name not in options(SMALL.but(seq_len=4096))
    assert name not in options(SMALL.but(jit_state="cold"))
    assert "fusion" in str(options(SMALL.but(fusion=False))["xla_disable_hlo_passes"])


def test_ids_without_a_row_are_refused(batch_of):
    batch = batch_of(SMALL)
    batch.inputs[0, 0] = 257
    with pytest.raises(EngineError, match="the vocabulary has 257"):
        build(SMALL).train_step(batch)


def test_an_update_needs_gradients_and_a_step_none_left_over(batch_of):
    mine = build(SMALL)
    with pytest.raises(EngineError, match="accumulate some before"):
        mine.update()
    mine.accumulate(batch_of(SMALL), 1.0)
    with pytest.raises(EngineError, match="left over"):
        mine.train_step(batch_of(SMALL))
