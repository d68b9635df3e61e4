"""What the verbs say of a run whose record is broken or gone, and of one that is not there."""

import json
import shutil

import pytest
from done_runs import begun_run, done_run
from msgspec import structs

from cputrain import environ
from cputrain.commands import cli
from cputrain.machine import registry
from cputrain.record import files
from cputrain.record.train import Ended
from cputrain.record.trained import SCHEMA, TrainRecord
from cputrain.sweep import asvenv, driver
from cputrain.sweep.training import source

pytestmark = pytest.mark.tools

OF_MODEL = (
    ("sample", "mine", "x"),
    ("export-model", "mine", "--to", "hf"),
    ("finetune", "--from", "mine", "--method", "full", "--steps", "50"),
)
GO_ON = (("train", "--resume", "mine"), ("finetune", "--resume", "mine"))
ANEW = ("train", "--steps", "50", "--out", "mine")
ANOTHER = "--out NAME starts another run"


@pytest.fixture
def begun(monkeypatch):
    """Have a run begin and measure nothing."""

    def drive(training, session):
        training.begin(session)
        return 0

    monkeypatch.setattr(driver, "drive", drive)


def refused(capsys, *words):
    assert cli.main([*words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("bench.py: ") and error.count("\n") == 1
    return error


def of_record(change):
    def changed(path):
        record = json.loads(path.read_text())
        change(record)
        path.write_text(json.dumps(record))

    return changed


def linked(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (lambda path: path.write_text("{}"), "schema None, and this version reads 1"),
        (of_record(lambda record: record.update(schema=0)), "written by an earlier version"),
        (of_record(lambda record: record.pop("plan")), "not a run record (Object missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "not JSON, perhaps cut off"),
        (linked, "not a regular file"),
        (lambda path: path.unlink() or path.mkdir(), "not a regular file"),
    ],
    ids=["empty", "earlier", "no plan", "cut off", "link", "folder"],
)
def test_a_broken_record_is_told_with_what_helps_each_verb(own_root, begun, broken, why, capsys):
    path = done_run(own_root) / "train.json"
    broken(path)
    alone = "delete it or move it away, and the model is taken without it"
    for words in OF_MODEL:
        line = refused(capsys, *words)
        assert line.startswith(f"bench.py: {path}: {why}") and line.endswith(f"; {alone}\n")
        assert "again" not in line
    for words in (*GO_ON, ANEW):
        line = refused(capsys, *words)
        assert line.startswith(f"bench.py: {path}: {why}") and "again" not in line
        assert line.endswith(f"; the run cannot go on without it: {ANOTHER}\n")


def test_without_its_record_a_model_is_taken_alone(own_root, monkeypatch):
    (done_run(own_root) / "train.json").unlink()
    model = source.named("mine", "here")
    assert model.record() is None and model.note() is None and model.tokenizer_text()
    monkeypatch.setattr(driver, "drive", lambda training, session: 0)
    assert cli.main([*OF_MODEL[-1]]) == 0


def test_checkpoints_without_a_record_are_told_of_and_nothing_is_said_to_go_on(
    own_root, begun, capsys
):
    folder = begun_run(own_root)
    (folder / "train.json").unlink()
    line = (
        f"bench.py: {folder} has checkpoints, the last of step 20, but no train.json, "
        f"so it cannot go on: {ANOTHER}\n"
    )
    named = ("train", "--resume", "--steps", "50", "--preset", "wiki-24m")
    shutil.copytree(folder, folder.with_name("wiki-24m"))
    for words in (*GO_ON, ANEW):
        assert refused(capsys, *words) == line
    assert refused(capsys, *named) == line.replace("/mine ", "/wiki-24m ")


def test_a_model_without_record_and_checkpoints_is_not_a_run_that_is_not_there(own_root, capsys):
    folder = done_run(own_root)
    (folder / "train.json").unlink()
    line = f"{folder} has a model.safetensors, and no checkpoint to go on from: {ANOTHER}"
    for words in GO_ON:
        assert line in refused(capsys, *words)


def test_a_run_that_is_not_there_is_told_with_those_that_are(own_root, begun, capsys):
    runs = own_root / "output" / "here" / "train"
    first = f"no run 'mine' to go on with in {runs}; there is none yet: python3 bench.py "
    train, finetune = (refused(capsys, *words) for words in GO_ON)
    assert f"{first}train --steps N begins one\n" in train
    assert f"{first}finetune --from RUN --method full --steps N begins one\n" in finetune
    named = refused(capsys, "train", "--resume", "--steps", "50", "--preset", "wiki-24m")
    assert "no run 'wiki-24m' to go on with" in named and "--steps N begins one\n" in named
    for words in OF_MODEL:
        line = f"run 'mine' is not there: there is no {runs}/mine/model.safetensors; there is none"
        assert f"{line} yet: python3 bench.py train --steps N begins one\n" in refused(
            capsys, *words
        )

    done_run(own_root, "night"), done_run(own_root, "day"), begun_run(own_root, "miner")
    for words in GO_ON:
        assert refused(capsys, *words).endswith(f"in {runs}; did you mean miner?\n")
    assert refused(capsys, "train", "--resume", "x").endswith("; there are day, miner, night\n")
    for words in OF_MODEL:  # one that has only begun has no model
        assert refused(capsys, *words).endswith("; there are day, night\n")


def test_a_run_without_a_model_is_told_with_what_makes_it(own_root, capsys):
    folder = begun_run(own_root)
    why = f"run 'mine' is not done: there is no {folder}/model.safetensors; "
    for words in OF_MODEL:
        line = f"{why}python3 bench.py train --resume mine goes on with it\n"
        assert line in refused(capsys, *words)
    record = files.read(folder / "train.json", TrainRecord, SCHEMA)
    ended = Ended(step=20, is_done=True, training_s=1.0)
    files.write(folder / "train.json", structs.replace(record, ended=ended))
    for words in OF_MODEL:
        assert refused(capsys, *words).endswith(
            f"run 'mine' has lost its model: there is no {folder}/model.safetensors; "
            "python3 bench.py train --resume mine --steps N, with N above 20, writes another\n"
        )
    done_run(own_root, "night")
    (folder / "train.json").write_text("{}")
    for words in OF_MODEL:
        line = refused(capsys, *words)
        assert line.endswith("; and there is no model.safetensors beside it; there are night\n")
    (folder / "train.json").unlink()
    for words in OF_MODEL:
        assert refused(capsys, *words).endswith(f"{why}there are night\n")


def test_a_run_is_found_where_the_home_folder_is_a_new_one(own_root, begun, monkeypatch, capsys):
    """A restarted container: asv's registry is gone, and results are not there yet."""
    monkeypatch.delenv(environ.MACHINE)
    monkeypatch.setenv("HOME", str(own_root / "home"))
    this = registry.name_here().name
    done, unfinished = done_run(own_root, machine=this), begun_run(own_root, "half", machine=this)
    monkeypatch.setattr(asvenv.Asv, "python", lambda asv: own_root / "python")
    for words in OF_MODEL[:2]:
        assert "python: not there yet; python3 bench.py train makes it" in refused(capsys, *words)
    assert cli.main([*OF_MODEL[2]]) == 0
    assert cli.main(["train", "--resume", "half"]) == 0
    assert "going on with half after step 20" in capsys.readouterr().out
    assert (done.parent, registry.register().name) == (unfinished.parent, this)


def test_a_run_of_another_machine_is_named_with_how_it_is_used(
    own_root, begun, monkeypatch, capsys
):
    there, here = (own_root / "output" / name / "train" for name in ("other", "here"))
    done_run(own_root, "night", machine="other"), begun_run(own_root, "half", machine="other")
    done_run(own_root, "day")
    monkeypatch.setattr(asvenv.Asv, "python", lambda asv: own_root / "python")
    told = "; machine other has it: "
    for words in OF_MODEL:
        line = refused(capsys, *(word.replace("mine", "night") for word in words))
        assert line.endswith(f"{told}give {there}/night instead of its name\n")
        moved = f"{told}move {there}/half to {here}/half to go on with it here\n"
        assert refused(capsys, *(word.replace("mine", "half") for word in words)).endswith(moved)
    for words in (("train", "--resume", "half"), ("finetune", "--resume", "half")):
        assert refused(capsys, *words).endswith(moved)

    by_folder = [[word.replace("mine", f"{there}/night") for word in words] for words in OF_MODEL]
    for words in by_folder[:2]:
        assert "python: not there yet; python3 bench.py train makes it" in refused(capsys, *words)
    assert cli.main(by_folder[2]) == 0
    shutil.move(there / "half", here / "half")
    assert cli.main(["train", "--resume", "half"]) == 0
    assert "going on with half after step 20" in capsys.readouterr().out
