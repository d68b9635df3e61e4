"""Whole tunings by the production code on simulated step times: budget, confirmation, record."""

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from simulated_workers import faster

from cputrain import paths
from cputrain.errors import RunError
from cputrain.experiment import Experiment
from cputrain.experiment.presets import PRESETS
from cputrain.record import files, tuning
from cputrain.record.tuning import TuningRecord
from cputrain.run.session import Session
from cputrain.sweep.tuning.planned import PlannedTuning
from cputrain.sweep.tuning.verb import Tune

pytestmark = pytest.mark.tools


def changes(tuning_):
    """What was put to the test."""
    record = tuning_.tracks[0].account.record
    adopted = [race.adopted.label for race in record.races if race.adopted is not None]
    return [label for label in (*adopted, *record.likeliest) if label not in record.left_out]


@pytest.mark.parametrize(
    ("name", "slowness"),
    [("wiki-24m", 0.5), ("wiki-24m", 2.0), ("llm-25m", 2.0), ("mlm-80m-short", 1.0)],
)
def test_the_budget_holds(tune, name, slowness):
    tuning_, workers = tune(PRESETS[name].experiment, lambda e: slowness * faster(e))
    assert workers.seconds <= 1.05 * 600
    assert len(tuning_.tracks[0].account.record.races) > 3
    assert tuning_.tracks[0].account.record.passes


def test_what_helps_is_found_and_confirmed_and_nothing_else(tune):
    tuning_, workers = tune(Experiment(), faster)
    assert tuning_.tracks[0].gain.is_confirmed
    assert tuning_.tracks[0].gain.effect.low < 0.68 < tuning_.tracks[0].gain.effect.high
    labels = changes(tuning_)
    assert {"allocator=glibc_thresholds", "optimizer_kernel=foreach"} <= set(labels)
    assert len(labels) <= 3  # one change too many by chance
    record = files.read(tuning_.tracks[0].account.folder / tuning.FILE, TuningRecord, tuning.SCHEMA)
    assert record == tuning_.tracks[0].account.record and record.status == "ok"
    assert len({worker.name for worker in workers.blocks}) > 10


def test_a_preset_s_part_of_a_step_is_none_of_its_candidates(tune):
    few = PRESETS["llm-25m"].experiment.but(grad_accum=4)
    assert few.budget.micro_batches == 2
    tuning_, _ = tune(few, lambda e: 0.7 if e.training.batch_size == 8 else 1.0)
    assert "batch_size=8, grad_accum=1" in changes(tuning_)
    best = tuning_.tracks[0].recommended
    assert (best.training.grad_accum, best.budget.micro_batches) == (1, None)


def test_where_nothing_helps_nothing_is_recommended(tune, capsys):
    for seed in range(3):
        tuning_, _ = tune(Experiment(), lambda e: 1.0, minutes=4, seed=seed)
        assert tuning_.tracks[0].gain is None or not tuning_.tracks[0].gain.is_confirmed
    said = capsys.readouterr().out
    assert "nothing is recommended" in said and "settings:" not in said
    assert not list(tuning_.tracks[0].account.folder.parent.rglob(tuning.SETTINGS))


def test_where_another_engine_wins_torch_is_tuned_too_in_the_time_that_is_left(tune, capsys):
    def native(e):
        return 0.5 if e.runtime.engine == "native" else faster(e)

    tuning_, workers = tune(Experiment(), native)
    first, second = tuning_.tracks
    assert first.recommended.runtime.engine == "native"
    assert second.recommended.runtime.engine == "torch"
    assert second.recommended.system.allocator == "glibc_thresholds"
    assert first.account.path != second.account.path
    assert workers.seconds <= 1.05 * 600
    said = capsys.readouterr().out
    assert said.count("settings: ") == 2 and said.count("train.py") == 1


def test_what_was_confirmed_is_written_though_the_second_tuning_gives_no_number(
    tune, own_root, capsys
):
    def native(e):
        if list(own_root.rglob(tuning.SETTINGS)):
            return 1e6  # of torch alone: the first tuning has come to its end
        return 0.5 if e.runtime.engine == "native" else 1.0

    with pytest.raises(RunError, match="the default settings gave no number"):
        tune(Experiment(), native)
    (path,) = own_root.rglob(tuning.SETTINGS)
    assert 'engine = "native"' in path.read_text()
    said = capsys.readouterr().out
    assert "confirmed: " in said and "settings: " in said


def test_a_second_tuning_that_is_stopped_leaves_what_the_first_has_confirmed(tune):
    tuning_, _ = tune(Experiment(), lambda e: 0.5 if e.runtime.engine == "native" else faster(e))
    first, second = tuning_.tracks
    second.gain = None
    assert tuning_.stopped() == f"what was confirmed is in {paths.shown(first.settings)}"
    first.gain = None
    assert tuning_.stopped().endswith("nothing is recommended: nothing was confirmed")


def test_small_effects_that_no_race_tells_are_found_together(tune):
    helps = {"huge_pages": "madvise", "wait_policy": "active", "optimizer_kernel": "default"}
    helps |= {"allocator": "glibc_thresholds", "attention_backend": "manual"}

    def small(e):
        return 0.985 ** sum(e.flat()[name] == value for name, value in helps.items())

    kept = ("engine", "compile", "pinning", "threads", "matmul_backend", "omp_runtime")
    best, helping = [], []
    for seed in range(3):
        tuning_, workers = tune(Experiment(), small, kept=kept, noise=0.02, seed=seed)
        assert workers.seconds <= 1.05 * 600
        record = tuning_.tracks[0].account.record
        assert len(record.rounds) > 5 and all(ran.status == "ok" for ran in record.rounds)
        chosen = [level.label for level in record.levels if level.is_chosen]
        assert sorted(chosen) == sorted(changes(tuning_))
        helping += [f"{name}={value}" in chosen for name, value in helps.items()]
        gained = [track.gain for track in tuning_.tracks if track.recommended is not None]
        best += [gain.effect.value for gain in gained]
    assert len(best) == 3 and max(best) < 0.97 and sum(helping) >= 12


def test_without_time_for_that_it_says_what_to_run(tune, capsys):
    def native(e):
        return 0.5 if e.runtime.engine == "native" else 1.0

    tuning_, _ = tune(PRESETS["llm-25m"].experiment, native, minutes=5)
    assert len(tuning_.tracks) == 1
    assert "--keep engine finds what torch can do" in capsys.readouterr().out


def test_a_share_of_the_time_that_is_too_short_for_a_start_is_all_of_it(tune):
    """Workers start in 16 s: 0.4 of what is left is soon less."""
    tuning_, workers = tune(Experiment(), faster, minutes=2.2, kept=("engine",), start_s=16.0)
    assert workers.seconds <= 1.15 * 132
    record = tuning_.tracks[0].account.record
    for race in record.races:
        tried = [raced for raced in race.candidates if raced.outcome not in ("refused", "known")]
        assert not tried or any(raced.log_ratios for raced in tried), race.knob


def test_what_is_kept_is_not_changed(tune):
    tuning_, _ = tune(Experiment(), faster, minutes=3, kept=("allocator", "engine"))
    labels = {
        raced.label for race in tuning_.tracks[0].account.record.races for raced in race.candidates
    }
    assert not [label for label in labels if label.startswith(("allocator", "engine=native"))]


def test_a_conductor_that_cannot_start_is_an_error_in_a_line(own_root, monkeypatch):
    """A socket's path has about a hundred characters at most, and $TMPDIR is longer."""
    folder = own_root / ("long" * 25)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    tuning_ = Tune(PlannedTuning(Experiment(), 60.0, (), (), 0, ""))
    tuning_.begin(Session.from_env())
    asv = SimpleNamespace(python=lambda: Path(sys.executable))
    with pytest.raises(RunError, match="conductor"):
        tuning_.measure(asv)


def test_a_default_that_gives_no_number_is_an_error_in_a_line(tune):
    with pytest.raises(RunError, match="the default settings gave no number: after "):
        tune(Experiment(), lambda e: 1e6, minutes=2)


def test_what_was_not_tried_is_said(tune, capsys):
    tuning_, _ = tune(PRESETS["wiki-24m"].experiment, faster, minutes=6)
    assert tuning_.tracks[0].account.record.not_tried
    assert "not tried for lack of time: " in capsys.readouterr().out


OTHER_KNOBS = (
    "engine",
    "allocator",
    "matmul_backend",
    "optimizer_kernel",
    "attention_backend",
    "threads",
)
OTHER_KNOBS += (
    "huge_pages",
    "loader_workers",
    "pinning",
    "wait_policy",
    "omp_runtime",
    "loss_chunk",
)
OTHER_KNOBS += ("batch_size", "grad_accum", "activation_checkpointing")


def test_what_no_race_told_for_lack_of_time_goes_to_the_test(tune, capsys):
    def compiled(e):
        return 0.93 if e.runtime.compile == "inductor" else 1.0

    likeliest = []
    for seed in range(4):
        tuning_, workers = tune(
            PRESETS["wiki-24m"].experiment, compiled, kept=OTHER_KNOBS, noise=0.12, seed=seed
        )
        record = tuning_.tracks[0].account.record
        is_won = any(race.adopted for race in record.races)
        assert not (is_won and record.likeliest)
        assert bool(record.likeliest or is_won) == bool(record.passes)
        assert workers.seconds <= 1.05 * 600
        likeliest += record.likeliest
    assert likeliest
    said = capsys.readouterr().out
    assert "no change was surely faster in its race; test of the likeliest, " in said


def test_what_is_far_faster_goes_to_the_test_however_blunt_the_last_race_is(tune):
    def faster(e):
        return 1.0 if e.training.activation_checkpointing else 0.7

    for seed in range(2):
        preset = PRESETS["mlm-80m-short"].experiment
        tuning_, _ = tune(preset, faster, kept=("allocator",), noise=0.15, seed=seed)
        record = tuning_.tracks[0].account.record
        assert "activation_checkpointing=off" not in record.left_out
        assert record.passes
