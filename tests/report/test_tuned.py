"""What is printed of a tuning, and its settings as a file that `--model` reads."""

import math
import os
import random

import pytest
from msgspec import structs
from settled import settled

from cputrain.analysis.tuning.gain import gain
from cputrain.engines import specs
from cputrain.experiment import PART_OF
from cputrain.experiment.described import described
from cputrain.experiment.presets import PRESETS
from cputrain.record.rounds import Blocks, LevelEffect, Round
from cputrain.record.tuning import FreshPass, Race, Raced, TuningRecord
from cputrain.report import tuned
from cputrain.report.tuned_script import script_lines
from cputrain.run import placement

pytestmark = pytest.mark.tools
DEFAULT = specs.settle(PRESETS["wiki-24m"].experiment)
BEST = DEFAULT.but(allocator="glibc_thresholds", batch_size=4, grad_accum=4, loader_workers=0)


def passes(ratio, count=3, noise=0.01):
    chance = random.Random(1)

    def blocks(over):
        times = (over * math.exp(chance.gauss(0, noise)), 1.0)
        return [Blocks(step_s=times, first="cell") for _ in range(8)]

    fresh = []
    for number in range(count):
        pairs = [blocks(ratio)[0] for _ in range(8)]
        twins = [blocks(1.0)[0] for _ in range(8)] if not number else []
        fresh.append(FreshPass(pairs=pairs, twins=twins, status="ok"))
    return fresh


def raced(label, ratio, outcome="adopted"):
    ratios = [math.log(ratio)] * 4
    return Raced(label=label, changes={}, outcome=outcome, step_s=[ratio] * 4, log_ratios=ratios)


def record(**changes):
    usual = {
        "session": "s",
        "machine": "here",
        "started": "2026-11-23T02:00:00+00:00",
        "seed": 1,
        "budget_s": 600.0,
        "took_s": 500.0,
        "default": DEFAULT.to_json(),
        "tuned": BEST.to_json(),
        "races": [
            Race(
                knob="allocator",
                reference=DEFAULT.to_json(),
                step_s=[1.0],
                candidates=[raced("allocator=glibc_thresholds", 0.8)],
            ),
            Race(
                knob="micro-batch",
                reference=DEFAULT.to_json(),
                step_s=[1.0],
                candidates=[raced("batch_size=4, grad_accum=4", 0.9)],
            ),
        ],
        "not_tried": ["pinning"],
        "status": "ok",
    }
    return TuningRecord(**{**usual, **changes})


def test_settings_come_back_as_they_were(tmp_path):
    for best in (BEST, settled(tied=False, rows=None, loss_chunk=64, threads=1, dropout=0.0)):
        known = gain(passes(0.7), ())
        path = tmp_path / "settings.toml"
        path.write_text(tuned.settings(best, record(), known))
        read = specs.settle(described(file=path))
        different = {n for n, v in best.flat().items() if read.flat()[n] != v}
        assert {PART_OF[name] for name in different} <= {"budget"}


def test_settings_name_what_was_tuned_back_to_the_baseline_s():
    default = settled(batch_size=8, activation_checkpointing=True, pinning="close")
    best = default.but(batch_size=1, grad_accum=8, activation_checkpointing=False, pinning="none")
    text = tuned.settings(best, record(default=default.to_json()), gain(passes(0.7), ()))
    for line in ("batch_size = 1", "activation_checkpointing = false", 'pinning = "none"'):
        assert f"\n{line}\n" in text
    assert "n_layer" not in text and "wait_policy" not in text
    assert text.splitlines()[1].startswith("# for --model alone, or for --settings over the model")


def test_a_confirmed_gain_is_said_with_its_interval_and_each_change():
    known = gain(passes(0.7), ())
    said = "\n".join(tuned.outcome(record(left_out=["loader_workers=0"]), known))
    assert said.startswith("confirmed: 0.70")
    assert "% interval; 3 passes of fresh workers, 24 pairs" in said and "as fast" in said
    assert "allocator=glibc_thresholds: 0.80" in said and "in its race" in said
    assert "not surely slower without: loader_workers=0" in said
    assert "not tried for lack of time: pinning; a longer --budget has time for more" in said
    assert "took 8.3 min of 10 min" in said


def test_pairs_that_do_not_count_are_said():
    first, *others = passes(0.7)
    spoilt = [structs.replace(pair, disturbed=True) for pair in first.pairs[:3]]
    made = structs.replace(first, pairs=[*spoilt, *first.pairs[3:]])
    said = tuned.outcome(record(), gain([made, *others], ()))[0]
    assert "3 passes of fresh workers, 21 of 24 pairs count)" in said


def test_a_change_that_is_taken_away_gives_what_is_lost_without_it():
    without = Race(
        knob="without one change",
        reference=BEST.to_json(),
        candidates=[raced("allocator=glibc_thresholds", 1.25, "raced")],
    )
    said = "\n".join(tuned.outcome(record(without=without), gain(passes(0.7), ())))
    assert "beside the same settings without it; 0.800x" in said
    assert "allocator=glibc_thresholds: 0.80" in said


def test_where_there_were_rounds_they_say_what_each_change_gave():
    level = LevelEffect(
        label="allocator=glibc_thresholds", ratio=(0.815, 0.805, 0.825), is_chosen=True
    )
    ran = Round(levels={"pinning": ("a", "b")}, log_ratios=[0.01, 0.03], status="ok")
    said = tuned.outcome(record(levels=[level], rounds=[ran] * 7), gain(passes(0.7), ()))
    assert "  allocator=glibc_thresholds: 0.815x [0.805, 0.825] by races and rounds" in said
    assert "  batch_size=4, grad_accum=4: 0.900x [0.864, 0.937] in its race" in said


def test_one_that_was_ended_by_blocks_that_no_longer_count_says_so():
    gone = Raced(label="a", changes={}, outcome="dropped", reason="far slower", step_s=[2.0])
    (_, line) = tuned.race(Race(knob="pinning", reference={}, step_s=[1.0], candidates=[gone]))
    assert line == "  a  far slower: ended; by the race's end none of its blocks counts"


def test_what_was_not_confirmed_is_not_recommended():
    for ratio, word in ((1.0, "the same within 3 %"), (1.3, "slower")):
        said = tuned.outcome(record(), gain(passes(ratio, noise=0.003), ()))[0]
        assert said.startswith("not confirmed, so nothing is recommended: ") and word in said
    bad = [*passes(0.7), FreshPass(status="failed", reason="did not train")]
    said = tuned.outcome(record(passes=bad), gain(bad, ()))[0]
    assert said.endswith("did not train")


def test_a_script_of_one_s_own_gets_environment_and_calls():
    said = "\n".join(script_lines(BEST, DEFAULT, ""))
    assert "OMP_NUM_THREADS=" in said and "GLIBC_TUNABLES=" in said and "train.py" in said
    assert "micro-batches of 4 sequences" in said
    assert "after the gradients of 4 micro-batches, each loss divided by 4" in said
    assert "CPUTRAIN" not in said and "PYTHON" not in said and "taskset" not in said
    whole = "\n".join(script_lines(DEFAULT.but(batch_size=16, grad_accum=1), BEST, ""))
    assert "optimizer.step() after each micro-batch" in whole and "divided" not in whole


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is all CPUs")
def test_a_script_of_one_s_own_runs_on_the_cpus_that_were_measured():
    usual = settled()
    best = usual.but(cores=1)
    (cpu,) = placement.place(best).cpus
    (_, line) = script_lines(best, usual, "")
    assert line.endswith(f" taskset --cpu-list {cpu} python train.py")


def test_a_script_of_one_s_own_keeps_its_optimizer():
    for name, kernel, call in (
        ("adamw", "default", "torch.optim.AdamW(..., foreach=False, fused=False)"),
        ("sgd", "foreach", "torch.optim.SGD(..., foreach=True)"),
        ("adafactor", "default", "torch.optim.Adafactor(..., foreach=False)"),
    ):
        usual = settled(optimizer=name)
        lines = script_lines(usual.but(optimizer_kernel=kernel), usual, "")
        assert lines[2:] == [f"  {call}"]


def test_of_another_engine_nothing_carries_over_and_it_says_what_to_run():
    best = specs.settle(settled().but(engine="native", compile=None, attention_backend=None))
    (said,) = script_lines(best, settled(), "--preset wiki-24m")
    assert "python3 bench.py tune --preset wiki-24m --keep engine" in said
    (said,) = script_lines(best, best, "--engine native")
    assert "python3 bench.py tune --engine native --engine torch --keep engine" in said


def test_where_no_race_fitted_the_budget_is_what_was_too_short():
    refused = Raced(label="allocator=jemalloc", changes={}, outcome="refused", reason="not here")
    race = Race(knob="allocator", reference=DEFAULT.to_json(), candidates=[refused])
    tried = record(tuned=None, races=[race], budget_s=36.0)
    assert tuned.outcome(tried, None)[0].startswith("no change was tried: 36 s are too short")
    every = record(tuned=None, races=[race], not_tried=[])
    assert tuned.outcome(every, None)[0].startswith("no change was surely faster")
    late = Raced(label="allocator=mimalloc", changes={}, outcome="not tried", reason="no time")
    race = Race(knob="allocator", reference=DEFAULT.to_json(), candidates=[late])
    late_ = record(tuned=None, races=[race], not_tried=[], budget_s=36.0)
    assert tuned.outcome(late_, None)[0].startswith("no change was tried: 36 s are too short")
    out = record(tuned=None, races=[], not_tried=[], left_out=["allocator=mimalloc"])
    assert "was not needed beside the others (allocator=mimalloc)" in tuned.outcome(out, None)[0]


def test_what_is_tested_is_one_line():
    won, likely = "engine=native", "allocator=mimalloc"
    doubted = f"(not surely faster in their races: {likely})"
    fresh = "fresh workers beside fresh workers of the default"
    assert tuned.testing([won], []) == f"test of {won}: {fresh}"
    assert tuned.testing([won, likely], [likely]) == f"test of {won}, {likely}: {fresh} {doubted}"
    assert tuned.testing([won], [likely]) == f"test of {won}: {fresh}"  # it was left out again
    likeliest = "no change was surely faster in its race; test of the likeliest"
    assert tuned.testing([likely], [likely]) == f"{likeliest}, {likely}: {fresh}"


def test_a_change_that_is_likely_has_its_race_s_ratio_too():
    likely = Race(
        knob="huge pages", reference={}, candidates=[raced("huge_pages=madvise", 0.95, "raced")]
    )
    races = [*record().races, likely]
    said = tuned.outcome(
        record(races=races, likeliest=["huge_pages=madvise"]), gain(passes(0.7), ())
    )
    (line,) = (line for line in said if "huge_pages=madvise" in line)
    assert "0.950x" in line and "in its race" in line
