"""Which knobs a tuning races first: by its own races, by records, by what is usual."""

import pytest
from simulated_workers import faster

from cputrain.analysis.tuning import known
from cputrain.analysis.tuning.known import Known
from cputrain.experiment import Experiment
from cputrain.experiment.presets import PRESETS
from cputrain.sweep.tuning import search

pytestmark = pytest.mark.tools


def test_what_the_first_tuning_told_of_torch_is_tried_first_in_the_second(tune, monkeypatch):
    """Records of another model say that inductor gives nothing, so it would come last."""
    nothing = Known("torch", {"compile": "inductor"}, 1.0, 0.95, 1.05, True)
    monkeypatch.setattr(known, "known", lambda analysis: [nothing])

    def native(e):
        if e.runtime.engine == "native":
            return 0.4
        return 0.6 if e.runtime.compile == "inductor" else faster(e)

    tuning_, _ = tune(Experiment(), native)
    first, second = (track.account.record for track in tuning_.tracks)
    assert first.races[0].knob == "engine" and "native" in first.races[0].adopted.label
    assert "inductor" in second.races[0].adopted.label


def test_a_noisy_record_has_no_knob_raced_before_those_that_usually_give_more(tune, monkeypatch):
    noisy = Known("torch", {"huge_pages": "madvise"}, 0.81, 0.59, 1.10, False)
    monkeypatch.setattr(known, "known", lambda analysis: [noisy])
    tuning_, _ = tune(Experiment(), faster)
    order = [race.knob for race in tuning_.tracks[0].account.record.races]
    assert order.index("huge pages") > order.index("engine")


def test_what_a_race_has_said_counts_for_the_order_of_those_that_follow(tune):
    """Inductor takes a minute to compile: no faster among the engines, it waits for the others."""
    tuning_, _ = tune(PRESETS["llm-25m"].experiment, faster, noise=0.01)
    record = tuning_.tracks[0].account.record
    order = [race.knob for race in record.races]
    engines = record.races[order.index("engine")].candidates
    assert any(raced.log_ratios for raced in engines if raced.label == "engine=torch inductor")
    places = [*order, *record.not_tried]
    assert places.index("compile") > max(map(places.index, ("matmul library", "micro-batch")))


def test_in_a_short_race_what_is_likely_to_give_most_for_its_seconds_starts_first(
    tune, monkeypatch
):
    """Inductor compiled for a minute there, and own C, which has 0.6x of the time, had none."""

    def native(e):
        return 1.8 * (0.6 if e.runtime.engine == "native" else 1.0)

    preset = PRESETS["wiki-24m"].experiment
    little = Known("torch", {"engine": "native"}, 0.99, 0.98, 1.0, True)
    for records, first, last in (
        ([], "native", "torch inductor"),
        ([little], "native openblas", "native"),
    ):
        monkeypatch.setattr(known, "known", lambda analysis, records=records: records)
        tuning_, _ = tune(preset, native, start_s=6.0)
        races = tuning_.tracks[0].account.record.races
        (engines,) = (race for race in races if race.knob == "engine")
        labels = [raced.label for raced in engines.candidates]
        labels.remove("engine=jax")  # whose whole steps take longer than compiling
        assert (labels[0], labels[-1]) == (f"engine={first}", f"engine={last}")
        assert "native" in engines.adopted.label


def test_an_engine_that_looks_faster_when_the_time_is_up_gets_more_turns(tune, monkeypatch):
    """Inductor had compiled for a minute there, and own C was 0.80x by three turns, not told."""

    def native(e):
        return 4.0 * (0.85 if e.runtime.engine == "native" else 1.0)

    turns = []
    for late in (0.0, search.LATE):
        monkeypatch.setattr(search, "LATE", late)
        every = [
            tune(PRESETS["wiki-24m"].experiment, native, start_s=6.0, noise=0.12, seed=seed)[0]
            for seed in (1, 2)
        ]
        races = [race for tuning in every for race in tuning.tracks[0].account.record.races]
        turns.append(sum(len(race.order) for race in races if race.knob == "engine"))
    assert turns[1] > turns[0]


def test_where_one_engine_alone_can_be_its_variant_is_compiled_once(tune):
    preset = PRESETS["mlm-80m-short"].experiment
    tuning_, _ = tune(preset, lambda e: 1.0 if e.training.activation_checkpointing else 0.8)
    record = tuning_.tracks[0].account.record
    (engines,) = (race for race in record.races if race.knob == "engine")
    assert {raced.outcome for raced in engines.candidates} == {"refused"}
    every = [raced for race in record.races for raced in race.candidates]
    compiled = [
        raced for raced in every if raced.ready_s and raced.changes.get("compile") == "inductor"
    ]
    assert len(compiled) == 1
    (sizes,) = (race for race in record.races if race.knob == "micro-batch")
    assert [len(raced.log_ratios) > 0 for raced in sizes.candidates] == [True, True]


def test_what_the_first_race_had_beside_its_winner_races_again_where_a_knob_has_both(tune):
    def native(e):
        return 0.6 if e.runtime.engine == "native" else 1.0

    for seed in range(3):
        tuning_, _ = tune(Experiment(), native, seed=seed)
        races = tuning_.tracks[0].account.record.races
        engines = next(race for race in races if race.knob == "engine")
        others = {"engine=native": "openblas", "engine=native openblas": "default"}
        wanted = f"matmul_backend={others[engines.adopted.label]}"
        (libraries,) = (race for race in races if race.knob == "matmul library")
        (again,) = (raced for raced in libraries.candidates if raced.label == wanted)
        assert again.log_ratios


def test_a_larger_micro_batch_does_not_make_the_races_after_its_own_longer(tune):
    """It is chosen all the same."""
    preset = PRESETS["llm-25m"].experiment
    tuning_, _ = tune(preset, lambda e: 0.7 if e.training.batch_size == 8 else 1.0)
    record = tuning_.tracks[0].account.record
    (sizes,) = (race for race in record.races if race.knob == "micro-batch")
    assert sizes.adopted is None
    for race in record.races:
        assert race.reference["training"]["batch_size"] <= preset.training.batch_size
    assert tuning_.tracks[0].recommended.training.batch_size == 8


def test_an_engine_that_runs_whole_steps_may_win_beside_parts_of_them(tune):
    def jax(e):
        return 0.5 if e.runtime.engine == "jax" else 1.0

    tuning_, _ = tune(PRESETS["llm-25m"].experiment, jax, start_s=1.0)
    engines = next(r for r in tuning_.tracks[0].account.record.races if r.knob == "engine")
    assert engines.adopted is not None and engines.adopted.label == "engine=jax"
