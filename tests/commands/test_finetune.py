"""What `finetune` and `sample` refuse, each in one line with status 2, before anything runs."""

import functools
import json
import os
import shutil

import pytest
from done_runs import SMALL, done_run
from msgspec import structs
from settled import settled

from cputrain.commands import cli, prompts
from cputrain.data import tokenizer_file
from cputrain.errors import UsageError
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.plan import Start, TrainingPlan
from cputrain.record.trained import SCHEMA, TrainRecord
from cputrain.sweep import driver
from cputrain.sweep.training import source

pytestmark = pytest.mark.tools


@pytest.fixture
def run(own_root):
    """Makes a run that is done."""
    return functools.partial(done_run, own_root)


@pytest.fixture
def planned(monkeypatch):
    """The plan of what a command line would train."""
    runs = []
    monkeypatch.setattr(driver, "drive", lambda training, _: runs.append(training.run) or 0)

    def plan(*words):
        assert cli.main([*words]) == 0
        return runs[-1].plan

    return plan


def test_help_lists_no_flag_of_the_shape_that_a_model_keeps(capsys):
    with pytest.raises(SystemExit):
        cli.parse(["finetune", "--help"])
    text = capsys.readouterr().out
    assert not {"--n-layer", "--seq-len", "--vocab-size"} & {*text.split()}
    assert {"--dropout", "--batch-size", "--engine"} <= {*text.split()}


def refused(capsys, *words):
    assert cli.main([*words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("bench.py: ") and error.count("\n") == 1
    return error


START = ("finetune", "--from", "mine", "--steps", "50")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("finetune", "--steps", "9"), "--from RUN and --method"),
        (("finetune", "--from", "mine", "--method", "full"), "--steps N is needed"),
        (("finetune", "--from", "no", "--method", "full", "--steps", "9"), "run 'no' is not there"),
        ((*START, "--method", "lora", "--n-layer", "2"), "n_layer = 2: mine has n_layer = 1"),
        ((*START, "--method", "lora", "--vocab-size", "999"), "mine has vocab_size = 257"),
        ((*START, "--method", "lora", "--seq-len", "32"), "mine has seq_len = 16"),
        ((*START, "--method", "lora", "--engine", "numpy"), "fine_tuning = 'lora'"),
        ((*START, "--method", "head", "--engine", "jax"), "fine_tuning = 'head'"),
        ((*START, "--method", "lora", "--precision", "q4"), "merged weights would be rounded anew"),
        ((*START, "--method", "full", "--processes", "2"), "only scratch"),
        ((*START, "--method", "full", "--data", "nowhere.txt"), "nowhere.txt"),
        ((*START, "--method", "full", "--warmup-steps", "50"), "lr_warmup_steps = 50"),
        ((*START, "--method", "full", "--temperature", "1"), "only with --sample"),
        (
            (*START, "--method", "full", "--lr", "0.1", "--learning-rate", "0.2"),
            "learning_rate is given twice: --lr 0.1 and --learning-rate 0.2; leave one out",
        ),
        ((*START, "--method", "full", "--at", "3"), "--at: only with --resume"),
        ((*START, "--method", "full", "--out", "../x"), "is no name of a run"),
        (("finetune", "--resume", "mine"), "run 'mine' fine-tunes nothing"),
        (("sample", "no", "text"), "run 'no' is not there"),
        (("sample", "mine", "\udcff"), "not UTF-8"),
    ],
)
def test_what_cannot_be(run, words, line, capsys):
    run()
    assert line in refused(capsys, *words)


def test_empty_data_is_refused(run, own_root, capsys):
    run()
    path = own_root / "empty.txt"
    path.write_text("")
    line = refused(capsys, *START, "--method", "full", "--data", str(path))
    assert "empty.txt: empty" in line


def test_a_pipe_is_refused_and_not_waited_for(run, own_root, capsys):
    run()
    path = own_root / "pipe"
    os.mkfifo(path)
    line = refused(capsys, *START, "--method", "full", "--data", str(path))
    assert "pipe: no plain file" in line


def test_paths_that_are_not_utf_8_are_refused(run, own_root, capsys):
    odd = own_root / os.fsdecode(b"odd\xff")
    odd.mkdir()
    shutil.copytree(run(), odd, dirs_exist_ok=True)
    model = str(odd / source.MODEL)
    line = "odd\N{REPLACEMENT CHARACTER}/model.safetensors: not UTF-8, as records need it: give"
    for words in (
        ("finetune", "--from", model, "--steps", "50", "--method", "full", "--out", "new"),
        ("sample", model, "x"),
        ("sample", str(odd), "x"),
        ("export-model", model, "--to", "hf"),
    ):
        assert line in refused(capsys, *words)
    (odd / "text.txt").write_text("Dear")
    (own_root / "link.txt").symlink_to(odd / "text.txt")
    for data in (odd / "text.txt", own_root / "link.txt"):
        for words in ((*START, "--method", "full"), ("train", "--steps", "9")):
            assert "text.txt: not UTF-8" in refused(capsys, *words, "--data", str(data))


def test_a_run_that_has_a_source_goes_on_with_its_own(run, capsys):
    start = Start(name="x", file="/x", sha256="0" * 64, tokenizer="0" * 64)
    run("tuned", SMALL.but(fine_tuning="lora"), start=start)
    words = ("finetune", "--resume", "tuned", "--method", "full")
    assert "not with --resume NAME" in refused(capsys, *words)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda data: data[:-4], "it is cut off"),
        (lambda data: data + b"x", "bytes of"),
        (lambda data: b"", "does not begin as a safetensors file"),
        (lambda data: b"\xff" * 64, "does not begin as a safetensors file"),
        (lambda data: data.replace(b'"wte"', b'"wxe"'), "no whole model: w"),
        (lambda data: data.replace(b"__metadata__", b"__metadatx__"), "no model of a run"),
        (lambda data: data.replace(b"n_layer", b"n_laxer"), "no model of a run"),
    ],
)
def test_a_file_that_is_no_whole_model(run, change, line, capsys):
    path = run() / source.MODEL
    path.write_bytes(change(path.read_bytes()))
    for words in ((*START, "--method", "full"), ("sample", "mine", "x")):
        assert line in refused(capsys, *words)
    assert line in refused(capsys, "sample", str(path), "x")


def test_a_tokenizer_of_another_model(run, capsys):
    path = run() / tokenizer_file.FILE
    path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
    line = "not the one that mine was trained with"
    assert line in refused(capsys, *START, "--method", "full")
    content = json.loads(tokenizer_file.of_bytes())
    content["model"]["vocab"]["ab"] = 300
    path.write_text(json.dumps(content))
    assert "it has id 300, the model has 257 ids" in refused(capsys, "sample", "mine", "x")
    path.write_text("[]")
    assert "no tokenizer of a run" in refused(capsys, "sample", "mine", "x")


def test_without_its_tokenizer_a_model_of_bytes_is_known_and_another_is_not(run):
    (run() / tokenizer_file.FILE).unlink()
    assert source.named("mine", "here").tokenizer_text() == tokenizer_file.of_bytes()
    (run("bpe", SMALL.but(vocab_size=300)) / tokenizer_file.FILE).unlink()
    with pytest.raises(UsageError, match="300 ids means nothing without it"):
        source.named("bpe", "here").tokenizer_text()


def test_a_model_is_named_by_its_run_its_folder_or_its_file(run, capsys):
    folder = run()
    names = ("mine", str(folder), str(folder / source.MODEL))
    assert len({source.named(name, "here").model for name in names}) == 1
    assert source.named("mine", "here").experiment == SMALL


def test_a_model_whose_run_has_gone_on_since_is_told_of_in_one_line(run, planned, capsys):
    folder = run()
    words = (*START, "--method", "full")
    planned(*words)
    assert capsys.readouterr().out == ""
    record = files.read(folder / "train.json", TrainRecord, SCHEMA)
    stopped = structs.replace(record.ended, is_done=False)
    line = f"{folder / source.MODEL}: its run is not done, and this may be the model of an earlier"
    for ended in (None, stopped):
        files.write(folder / "train.json", structs.replace(record, ended=ended))
        planned(*words)
        out = capsys.readouterr().out
        assert out.startswith(line) and out.count("\n") == 1
        assert "python3 bench.py train --resume mine goes on with it" in out
    for name in ("mine", str(folder / source.MODEL)):
        said = []
        source.named(name, "here", said.append)
        assert len(said) == 1


def test_a_model_with_additions_beside_its_weights_is_refused(run, capsys):
    run("tuned", SMALL.but(fine_tuning="lora"))
    words = ("finetune", "--from", "tuned", "--method", "full", "--steps", "9")
    assert "low-rank additions beside its weights" in refused(capsys, *words)


def test_other_blocks_are_refused_by_name(run, capsys):
    run("recurrent", settled(n_layer=1, n_embd=32, n_head=2, seq_len=16, architecture="lstm"))
    words = ("finetune", "--from", "recurrent", "--method", "full", "--steps", "9")
    assert "architecture = 'lstm'" in refused(capsys, *words)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--preset", "mlm-80m-short"), "predicts masked tokens, not the next one"),
        (("--preset", "path-600k"), "dataset = 'paths' is no text"),
    ],
)
def test_a_training_whose_model_continues_no_text_is_refused_up_front(
    own_root, words, line, capsys
):
    assert line in refused(capsys, "train", "--steps", "9", *words, "--sample", "x")


def test_a_prompt_has_the_seed_of_the_training_and_flags_win():
    args = cli.parse(["train", "--steps", "9", "--sample", "Once", "--temperature", "0"])
    plan = prompts.with_prompt(args, TrainingPlan(steps=9), Experiment().but(seed=4))
    assert (plan.prompt.text, plan.prompt.seed, plan.prompt.temperature) == ("Once", 4, 0)
    again = cli.parse(["train", "--resume", "mine"])
    assert prompts.with_prompt(again, plan, Experiment()).prompt == plan.prompt


@pytest.mark.parametrize("clip", [0.5, None])
def test_gradients_are_clipped_as_the_sources_were_unless_told_otherwise(run, planned, clip):
    folder = run(clip=clip)
    words = (*START, "--method", "full")
    assert planned(*words).clip == clip
    assert planned(*words, "--clip", "2").clip == 2
    (folder / "train.json").unlink()
    assert planned(*words).clip is None  # a model alone does not say


def test_a_file_that_is_no_model_is_not_taken_for_a_run(run, own_root):
    (own_root / "notes.txt").write_text("Dear")
    with pytest.raises(UsageError, match=r"notes.txt: no model: a run's name"):
        source.named(str(own_root / "notes.txt"), "here")
