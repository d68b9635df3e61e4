"""The last lines of a run: its time, what it has right, and what the source of a preset says."""

import pytest
from made_runs import PHASES, record
from msgspec import structs

from cputrain.engines import specs
from cputrain.experiment.presets import PRESETS
from cputrain.report import train_end

pytestmark = pytest.mark.tools


def of_preset(name, **changes):
    its = PRESETS[name].experiment.but(**train_end.LOADED, **changes)
    return specs.settle(its)


def test_the_time_of_all_stretches_adds_up_to_the_wall():
    its = record("a")
    (stretch,) = its.stretches
    split = train_end.split([stretch, stretch])
    assert split["imports"] == 5.0 and split["data"] == 3.0 and split["initialisation"] == 2.0
    assert split["steps"] == 20.0 and split["evaluation"] == 1.0 and split["saving"] == 2.0
    assert sum(split.values()) == pytest.approx(40.0)
    (line,) = train_end.lines(its)
    assert line == (
        "time: imports 2.5 s, data 1.5 s, initialisation 1.0 s, steps 10 s, evaluation 500 ms, "
        "saving 1.0 s, the rest 3.5 s"
    )


def test_a_library_that_was_built_counts_and_a_stretch_cut_short_is_said():
    its = record("a")
    (stretch,) = its.stretches
    built = structs.replace(stretch, phases=PHASES | {"native_build_s": 2.0})
    assert train_end.split([built])["imports"] == 4.5
    cut = structs.replace(stretch, phases={}, ended="running")
    (line,) = train_end.lines(structs.replace(its, stretches=[cut, stretch]))
    assert line.startswith("time (without 1 stretch cut short): imports 2.5 s")
    assert train_end.lines(structs.replace(its, stretches=[cut])) == []


def test_masked_runs_say_what_is_right():
    its = record("a")
    ended = structs.replace(its.ended, accuracy={"tokens": 0.123, "nodes": 0.031})
    lines = train_end.lines(structs.replace(its, ended=ended))
    assert lines[1] == "right: 12 % of masked tokens, 3.1 % of masked nodes"


def test_a_preset_is_known_by_its_work_on_whatever_engine_and_data_order():
    for name, preset in PRESETS.items():
        if preset.experiment.training.objective != "forward":
            assert train_end.preset(of_preset(name, seed=7, learning_rate=0.5)) == name
    assert train_end.preset(of_preset("mlm-80m", n_layer=8)) is None
    assert train_end.preset(of_preset("mlm-80m", seq_len=64)) is None


def test_what_others_published_stands_beside_and_is_called_theirs():
    its = record("a", of_preset("mlm-80m"))
    theirs, own = train_end.lines(its)[1:]
    assert theirs == (
        "published of mlm-80m, theirs (i5-1240P, 8 threads, 19 GB): 4.55 s per step "
        "(20 steps in 91 s), data 10 s, initialisation 60 s, 6 to 8 GB"
    )
    assert own == "this run: 100 ms per step, data 1.5 s, initialisation 1.0 s"
    data = structs.replace(its.worker.data, prepared_s=4.0)
    kept = structs.replace(its, worker=its.worker.but(data=data))
    assert train_end.lines(kept)[2] == f"{own}, tokenizing 4.0 s when it was done"
    (expected, _) = train_end.lines(record("a", of_preset("mlm-80m-short")))[1:]
    assert len(train_end.lines(record("a", of_preset("path-600k")))) == 1  # it has no figures
    assert expected.startswith("expected by its authors of mlm-80m-short, theirs")
