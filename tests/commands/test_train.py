"""What `train` refuses, each in one line with status 2, before anything is trained."""

import shutil

import pytest
from done_runs import PLAN, begun_run
from msgspec import structs
from settled import settled

from cputrain.commands import cli, train
from cputrain.errors import UsageError
from cputrain.record import files
from cputrain.record.train import Ended
from cputrain.record.trained import SCHEMA, Stretch, TrainRecord
from cputrain.run import recording
from cputrain.run.session import Session
from cputrain.sweep import driver
from cputrain.sweep.training.planned import PlannedRun, resumed_step
from cputrain.worker.training import checkpoints

pytestmark = pytest.mark.tools
SMALL = settled(n_layer=1, n_embd=32, n_head=2, batch_size=2)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--steps", "0"), "'0' is not a whole number from 1"),
        (("--steps", "9", "--clip", "-1"), "above 0"),
        (("--steps", "9", "--lr", "x"), "above 0"),
        (("--steps", "9", "--patience", "-1"), "is not a whole number"),
        (("--steps", "9", "--nproc", "0"), "'0' is not a whole number from 1"),
    ],
)
def test_flags_that_cannot_be(words, line, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.parse(["train", *words])
    assert caught.value.code == 2
    assert line in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "--steps N is needed"),
        (("--steps", "9", "--at", "3"), "--at: only with --resume"),
        (("--resume", "a", "--out", "b"), "--out b: not with --resume a"),
        (("--steps", "9", "--preset", "nothing"), "no preset 'nothing'"),
        (("--steps", "9", "--preset", "forward-tiny"), "trains nothing"),
        (("--steps", "9", "--nproc", "2", "--engine", "numpy"), "no such setting: torch has"),
        (("--steps", "9", "--nproc", "3", "--batch-size", "4"), "does not divide by it"),
        (("--steps", "9", "--nproc", "2", "--threads", "2"), "with processes = 2 only None"),
        (("--steps", "9", "--nproc", "2", "--compile", "inductor"), "processes = 2 only eager"),
        (("--steps", "9", "--settings", "nowhere.toml"), "nowhere.toml: cannot be read"),
        (("--steps", "9", "--out", "../x"), "is no name of a run"),
        (("--steps", "9", "--warmup-steps", "9"), "lr_warmup_steps = 9: the run has 9 steps"),
        (("--steps", "500", "--preset", "path-600k"), "lr_warmup_steps = 500: the run has 500"),
        (("--resume", "nothing"), "no run 'nothing' to go on with"),
        (
            ("--steps", "9", "--learning-rate", "0.2", "--lr", "0.1"),
            "learning_rate is given twice: --lr 0.1 and --learning-rate 0.2; leave one out",
        ),
        (
            ("--steps", "99", "--warmup-steps", "5", "--lr-warmup-steps", "7"),
            "lr_warmup_steps is given twice: --warmup-steps 5 and --lr-warmup-steps 7; leave one",
        ),
        (
            ("--steps", "9", "--processes", "none", "--nproc", "2"),
            "processes is given twice: --nproc 2 and --processes none; leave one out",
        ),
    ],
)
def test_a_run_that_cannot_be(own_root, words, line, capsys):
    assert cli.main(["train", *words]) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1


def test_a_preset_that_streams_is_trained_from_memory_and_a_line_says_so(own_root, capsys):
    assert cli.main(["train", "--preset", "wiki-24m", "--steps", "9", "--out", "../x"]) == 2
    assert "loader stream: train has its data in memory" in capsys.readouterr().out


@pytest.fixture
def run(own_root):
    """A run's folder with checkpoints of steps 10 and 20."""
    return begun_run(own_root, experiment=SMALL)


def planned(experiment=SMALL, at=None, goes_on=True, **plan):
    return PlannedRun("mine", experiment, structs.replace(PLAN, **plan), goes_on, at)


def step_of(folder, given):
    return resumed_step(given, folder, files.read(folder / "train.json", TrainRecord, SCHEMA))


def test_a_run_goes_on_from_its_latest_checkpoint_or_the_one_that_is_named(run):
    assert step_of(run, planned()) == 20
    assert step_of(run, planned(at=10)) == 10
    assert step_of(run, planned(steps=200)) == 20
    assert step_of(run, planned(patience=3)) == 20
    assert step_of(run, planned(patience=2, at=10)) == 10


def recorded(folder, **changes):
    """Have the run's record say something else."""
    record = files.read(folder / "train.json", TrainRecord, SCHEMA)
    files.write(folder / "train.json", structs.replace(record, **changes))


@pytest.mark.parametrize("plan", [{"steps": 20}, {"patience": 2}], ids=["steps", "patience"])
def test_a_run_at_its_end_is_finished_unless_its_end_is_on_record(run, plan):
    recorded(run, plan=structs.replace(PLAN, **plan))
    assert step_of(run, planned(**plan)) == 20
    stopped = Ended(step=20, is_done=False, training_s=1.0)
    recorded(run, ended=stopped)
    assert step_of(run, planned(**plan)) == 20
    recorded(run, ended=structs.replace(stopped, is_done=True))
    with pytest.raises(UsageError, match="step 20 is "):
        step_of(run, planned(**plan))


@pytest.mark.parametrize("at", [None, 10])
def test_where_no_checkpoint_is_whole_another_run_is_offered(run, at):
    for step in (10, 20):
        path = run / "checkpoints" / f"step-{step}.safetensors"
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(UsageError, match=r"cut off; none is left: --out NAME starts another run$"):
        step_of(run, planned(at=at))


def test_for_the_first_checkpoint_a_later_one_is_offered(run):
    path = run / "checkpoints" / "step-10.safetensors"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(UsageError, match="--resume mine --at 20 goes on from the one after"):
        step_of(run, planned(at=10))


def test_a_run_goes_on_with_another_number_of_processes(run):
    assert step_of(run, planned(SMALL.but(processes=2))) == 20
    assert checkpoints.identity(SMALL.but(processes=2)) == SMALL.identity


@pytest.mark.parametrize("nproc", [("--nproc", "1"), ("--processes", "1"), ()])
def test_one_process_is_one_without_torchrun(own_root, nproc):
    args = cli.parse(["train", "--steps", "9", *nproc])
    assert train.experiment_of(args, None).system.processes is None


@pytest.mark.parametrize("words", [("--nproc", "2"), ("--grad-accum", "1")])
@pytest.mark.parametrize("name", ["llm-25m", "llm-117m"])
def test_a_preset_of_which_part_of_a_step_is_measured_is_trained_otherwise(own_root, name, words):
    args = cli.parse(["train", "--steps", "9", "--preset", name, "--batch-size", "4", *words])
    assert train.experiment_of(args, None).budget.micro_batches is None


def test_two_flags_of_one_field_may_say_the_same(own_root):
    words = ("--lr", "0.1", "--learning-rate", "1e-1", "--warmup-steps", "3", "--nproc", "2")
    args = cli.parse(["train", "--steps", "9", *words, "--processes", "2", "--batch-size", "2"])
    experiment = train.experiment_of(args, None)
    training, processes = experiment.training, experiment.system.processes
    assert (training.learning_rate, training.lr_warmup_steps, processes) == (0.1, 3, 2)


def test_the_short_flags_win_over_settings(own_root):
    path = own_root / "tuned.toml"
    path.write_text("learning_rate = 0.5\nlr_warmup_steps = 7\nprocesses = 4\n")
    words = ("--settings", str(path), "--lr", "0.1", "--warmup-steps", "3", "--nproc", "1")
    experiment = train.experiment_of(cli.parse(["train", "--steps", "9", *words]), None)
    training, processes = experiment.training, experiment.system.processes
    assert (training.learning_rate, training.lr_warmup_steps, processes) == (0.1, 3, None)


def test_data_that_is_no_text_starts_nothing(own_root, monkeypatch, capsys):
    monkeypatch.setattr(driver, "drive", lambda training, session: 0)
    path = own_root / "x.bin"
    path.write_bytes(b"\x7fELF\xff")
    assert cli.main(["train", "--steps", "9", "--data", str(path)]) == 2
    assert f"--data {path}: line 1: not UTF-8 (invalid start byte)" in capsys.readouterr().err
    assert not (own_root / "output").exists()


def test_going_on_the_number_of_processes_may_be_another_one(run):
    known = files.read(run / "train.json", TrainRecord, SCHEMA)
    words = ["train", "--resume", "mine"]
    for nproc, processes in (((), None), (("--nproc", "2"), 2), (("--nproc", "1"), None)):
        args = cli.parse([*words, *nproc])
        assert train.experiment_of(args, known) == SMALL.but(processes=processes)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            planned(goes_on=False),
            "has a run, saved at step 20 of 100: python3 bench.py train --res",
        ),
        (planned(at=15), "there is no such checkpoint; there are 10, 20"),
        (planned(steps=20), "step 20 is done already"),
        (planned(SMALL.but(n_embd=64)), "has n_embd = 32, asked is 64"),
        (planned(clip=1.0), "--clip is another one"),
        (
            planned(patience=2),
            "step 20 is 2 evaluations after the lowest validation loss, where --patience 2 ends "
            "the run: --patience 3 or more goes on, --patience 0 without",
        ),
    ],
)
def test_what_does_not_go_on_says_so_in_one_line(run, given, line):
    with pytest.raises(UsageError, match=line) as caught:
        step_of(run, given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_run_whose_checkpoints_are_gone_is_not_started_over_its_own_files(run, goes_on):
    shutil.rmtree(run / "checkpoints")
    given = planned(goes_on=goes_on)
    assert step_of(run, given) is None  # it had saved nothing yet
    early = Ended(step=0, is_done=False, training_s=0.0)
    begun = Stretch(started="2026-01-01T00:00:00+00:00", done=0, last=7)
    recorded(run, ended=early, stretches=[begun])
    assert step_of(run, given) is None
    line = "has a run that came to step 20, and no checkpoint to go on from: --out NAME starts"
    for changes in (
        {"ended": structs.replace(early, step=20)},
        {"stretches": [begun, structs.replace(begun, done=20)]},
    ):
        recorded(run, **{"ended": None, "stretches": [], **changes})
        with pytest.raises(UsageError, match=line):
            step_of(run, given)
    recorded(run, ended=None, stretches=[])
    (run / "model.safetensors").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"has a model.safetensors, and no checkpoint"):
        step_of(run, given)


@pytest.mark.parametrize("how", ["cut off", "damaged", "foreign"])
def test_a_checkpoint_that_is_not_whole_is_refused_and_the_one_before_offered(run, how):
    path = run / "checkpoints" / "step-20.safetensors"
    if how == "cut off":
        path.write_bytes(path.read_bytes()[:-3])
    elif how == "damaged":
        path.write_bytes(b"X" + path.read_bytes()[1:])
    else:
        facts = path.with_suffix(".json")
        facts.write_text(facts.read_text().replace(SMALL.identity, "0" * 12))
    with pytest.raises(UsageError, match="--resume mine --at 10 goes on from the one before"):
        step_of(run, planned())


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--lr", "0.5"), "run 'mine' has learning_rate = 0.0003, asked is 0.5: --out NAME"),
        (("--n-embd", "64"), "run 'mine' has n_embd = 32, asked is 64"),
        (("--engine", "numpy"), "= 'numpy'"),
        (("--preset", "wiki-24m"), "run 'mine' has n_layer = 1, asked is "),
    ],
)
def test_what_another_flag_says_is_held_against_the_run_on_record(run, words, line):
    known = files.read(run / "train.json", TrainRecord, SCHEMA)
    args = cli.parse(["train", "--resume", "mine", *words])
    with pytest.raises(UsageError, match=line):
        step_of(run, planned(train.experiment_of(args, known)))


def test_a_flag_that_says_what_the_run_on_record_has_changes_nothing(run):
    known = files.read(run / "train.json", TrainRecord, SCHEMA)
    args = cli.parse(["train", "--resume", "mine", "--n-embd", "32", "--lr", "0.0003"])
    assert train.experiment_of(args, known) == SMALL


def test_export_of_a_run_that_is_not_there_or_not_done(run, capsys):
    assert cli.main(["export-model", "nothing", "--to", "hf"]) == 2
    assert "run 'nothing' is not there" in capsys.readouterr().err
    assert cli.main(["export-model", "mine", "--to", "hf"]) == 2
    assert "run 'mine' is not done" in capsys.readouterr().err


def test_a_run_that_goes_on_keeps_its_patience_and_event_files_unless_told_otherwise(run):
    pytest.importorskip("tensorboard")
    plan = structs.replace(PLAN, patience=3, tensorboard=True)
    worker = recording.opened(Session.from_env(), SMALL)
    known = TrainRecord(name="mine", plan=plan, worker=worker)

    def planned(*words):
        chosen = train.plan_of(cli.parse(["train", "--resume", "mine", *words]), known)
        return chosen.patience, chosen.tensorboard

    assert planned() == (3, True)
    assert planned("--patience", "5") == (5, True)
    assert planned("--patience", "0", "--no-tensorboard") == (None, False)
