"""Real runs that go on with a trained model: what is trained, what is kept, what comes of it."""

import json
import shutil

import numpy as np
import pytest
from settled import settled
from test_trained_worker import SIZES, SMALL
from trained_runs import Run

from cputrain import engines
from cputrain.data import tokenizer_file
from cputrain.data.tokenizer_file import FromFile
from cputrain.machine import compilers
from cputrain.model.shapes import n_params, n_trained, trained
from cputrain.record.plan import Start
from cputrain.record.train import Ended, Failed, Kept, Ready, Started
from cputrain.worker import saved
from cputrain.worker.training import checkpoints, sources, whole

pytest.importorskip("torch")
pytest.importorskip("tokenizers")
TORCH = SMALL.but(engine="torch", attention_backend="sdpa", seed=1)
METHODS = {"full": {}, "head": {"tied": False}, "lora": {}}


def fine(method, **changes):
    return TORCH.but(fine_tuning=method, **METHODS[method], **changes)


def start_of(run):
    model = run.folder / saved.MODEL
    return Start(
        name=run.folder.name,
        file=str(model),
        sha256=saved.named(model).sha256,
        tokenizer=tokenizer_file.digest((run.folder / tokenizer_file.FILE).read_text()),
    )


def finetuning(root, name, source, experiment, **plan):
    """A run that starts from that of another run, with its tokenizer in the folder."""
    run = Run(root, name, experiment, start=start_of(source), **plan)
    run.folder.mkdir(parents=True)
    shutil.copy(source.folder / tokenizer_file.FILE, run.folder)
    return run


def validation_of(root, run):
    opened = sources.opened(run.experiment, run.plan, root / "data", True, run.folder)
    return opened.validation()


def loss_of(folder, batches):
    """Of the model in a folder, by an engine of its own: nothing is added to its weights."""
    experiment, weights = whole.load(folder / saved.MODEL)
    assert experiment.training.fine_tuning == "scratch"
    engine = engines.build(experiment, weights)
    return float(np.mean([engine.loss(batch) for batch in batches]))


@pytest.fixture
def source(own_root):
    run = Run(own_root, "source", SMALL)
    assert isinstance(run.train()[-1], Ended)
    return run


@pytest.mark.parametrize("method", METHODS)
def test_it_starts_where_the_source_stopped_and_leaves_a_whole_model(own_root, source, method):
    experiment = fine(method)
    run = finetuning(own_root, "tuned", source, experiment)
    answers = run.train()
    last = answers[-1]
    assert isinstance(last, Ended), last
    (started,) = [a for a in answers if isinstance(a, Started)]
    (ready,) = [a for a in answers if isinstance(a, Ready)]
    batches = validation_of(own_root, run)
    assert started.validation_loss == pytest.approx(loss_of(source.folder, batches), rel=1e-5)
    assert (started.trained, started.weights) == (n_trained(experiment), n_params(experiment))
    assert ready.started_from.sha256 == run.plan.start.sha256
    assert last.validation_loss < started.validation_loss
    # What was added is in the weights: the file's model has the loss that the run ended with.
    assert loss_of(run.folder, batches) == pytest.approx(last.validation_loss, rel=1e-5)
    assert (run.folder / whole.ADAPTERS).exists() == (method == "lora")
    _, before = whole.load(source.folder / saved.MODEL)
    _, after = whole.load(run.folder / saved.MODEL)
    before.setdefault("head.weight", before["wte"])
    changed = {n for n, array in after.items() if not np.array_equal(array, before[n])}
    if method == "lora":
        expected = {f"{n.rpartition('.')[0]}.weight" for n in trained(experiment)}
    else:
        expected = set(trained(experiment))
    assert changed == expected


def test_additions_are_kept_alone_too(own_root, source):
    from safetensors.numpy import load_file

    run = finetuning(own_root, "tuned", source, fine("lora"))
    run.train()
    added = load_file(run.folder / whole.ADAPTERS)
    assert set(added) == set(trained(fine("lora")))
    assert all(array.any() for array in added.values())
    step = checkpoints.pointed(run.folder, checkpoints.LATEST)
    weights, _ = checkpoints.tensors(run.folder, checkpoints.read(run.folder, step))
    assert all(np.array_equal(added[name], weights[name]) for name in added)


def test_a_run_can_start_from_one_that_fine_tuned(own_root, source):
    first = finetuning(own_root, "first", source, fine("lora"))
    end = first.train()[-1]
    second = finetuning(own_root, "second", first, fine("head"))
    answers = second.train()
    (started,) = [a for a in answers if isinstance(a, Started)]
    assert started.validation_loss == pytest.approx(end.validation_loss, rel=1e-5)


@pytest.mark.parametrize("engine", ["numpy", "native", "jax"])
def test_other_engines_go_on_with_a_model_in_full(own_root, source, engine):
    if engine == "native" and not compilers.is_here("gcc"):
        pytest.skip("no gcc")
    if engine == "jax":
        pytest.importorskip("jax")
    experiment = settled(**SIZES, engine=engine, fine_tuning="full", seed=1)
    run = finetuning(own_root, "tuned", source, experiment)
    answers = run.train()
    last = answers[-1]
    assert isinstance(last, Ended), last
    (started,) = [a for a in answers if isinstance(a, Started)]
    batches = validation_of(own_root, run)
    assert started.validation_loss == pytest.approx(loss_of(source.folder, batches), rel=1e-5)
    assert last.validation_loss < started.validation_loss
    assert loss_of(run.folder, batches) == pytest.approx(last.validation_loss, rel=1e-5)


def test_killed_and_resumed_without_its_source_the_curve_is_the_same(own_root, source):
    experiment = fine("lora", dropout=0.1, attention_backend="manual")
    undisturbed = finetuning(own_root, "undisturbed", source, experiment)
    cut = finetuning(own_root, "cut", source, experiment)
    assert isinstance(undisturbed.train()[-1], Ended)
    with cut.start() as process:
        cut.until(Kept, 8, process)
        process.kill()
    shutil.rmtree(source.folder)
    step = checkpoints.pointed(cut.folder, checkpoints.LATEST)
    answers = cut.train(resume=step)
    assert isinstance(answers[-1], Ended), answers[-1]
    assert not [a for a in answers if isinstance(a, Started)]
    assert cut.curve == undisturbed.curve
    models = [(run.folder / saved.MODEL).read_bytes() for run in (undisturbed, cut)]
    assert models[0] == models[1]


def test_a_source_that_has_changed_since_is_refused(own_root, source):
    run = finetuning(own_root, "tuned", source, fine("full"))
    experiment, weights = whole.load(source.folder / saved.MODEL)
    weights["wte"] *= 2
    saved.save(source.folder, experiment, weights, 10**9)
    last = run.train()[-1]
    assert isinstance(last, Failed) and "has changed since" in last.reason


def test_another_tokenizer_in_the_folder_is_refused(own_root, source):
    run = finetuning(own_root, "tuned", source, fine("full"))
    path = run.folder / tokenizer_file.FILE
    path.write_text(path.read_text() + " ")
    last = run.train()[-1]
    assert isinstance(last, Failed) and "not the tokenizer of source" in last.reason


@pytest.mark.parametrize("own", [True, False])
def test_text_is_in_the_ids_of_the_source_whatever_it_says(own_root, own):
    """A BPE trained on the new text would have other merges."""
    mine, other = own_root / "mine.txt", own_root / "other.txt"
    mine.write_text("\n\n".join(f"abab cdcd number {n}" for n in range(80)))
    other.write_text("\n\n".join(f"xyxy zwzw nothing {n}" for n in range(80)))
    source = Run(own_root, "source", SMALL.but(vocab_size=300), files=[str(mine)])
    assert isinstance(source.train()[-1], Ended)
    files = [str(other)] if own else []
    experiment = fine("full", vocab_size=300)
    run = finetuning(own_root, "tuned", source, experiment, files=files)
    assert isinstance(run.train()[-1], Ended)
    tokenizer = FromFile(source.folder / tokenizer_file.FILE)
    assert (run.folder / tokenizer_file.FILE).read_text() == tokenizer.file()
    batch = validation_of(own_root, run)[0]
    text = tokenizer.decode(batch.inputs[0].tolist())
    if own:
        assert "xyxy" in text and "nothing" in text
    facts = json.loads((run.folder / "checkpoints" / "step-24.json").read_text())
    assert f"bpe-{tokenizer.vocab}" in facts["data"]
