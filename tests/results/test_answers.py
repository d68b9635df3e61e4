"""Each sentence of the first screen, and rows that make it false."""

import re

import pytest
from made_answers import EVERY_PAIR, USUAL, answers, setting
from made_project import failure

from cputrain.report import baseline, first_screen
from cputrain.report.statements import Statement

pytestmark = pytest.mark.tools


def test_a_sentence_without_rows_cannot_be_made():
    with pytest.raises(ValueError, match="no row backs: all is well"):
        Statement("all is well", ())


def test_the_baseline_is_told_by_its_own_rows(noise):
    setting(noise, "precision", ("fp32", "bf16"), (0.042, 0.020))
    known = answers(noise)
    assert known.baseline.text.startswith(
        "A training step of the baseline (n_layer 4, n_embd 256, seq_len 256, batch size 1, "
        "fp32, torch) takes 4"
    )
    assert {row["suite"] for row in known.baseline.rows} == {"Baseline"}
    assert "MFU" not in known.baseline.text  # nothing was measured to take a share of


def test_a_machine_that_drifts_is_told_with_the_range_of_its_moments(noise):
    """The A/A cells' own 42 ms are of one moment; beside other cells it took 30 to 50."""
    tried = {
        "pinning": ("none", "close"),
        "wait_policy": ("default", "passive"),
        "allocator": ("glibc", "mimalloc"),
    }
    for (field, values), step_s in zip(tried.items(), (0.030, 0.040, 0.050), strict=True):
        setting(noise, field, values, (step_s, step_s), reference=step_s)
    text = answers(noise).baseline.text
    assert re.search(
        r"takes 4\d.* here, [23]\d.* ms to [45]\d.* ms at \d+ moments of the run:", text
    ), text


def test_few_moments_are_no_range(noise, monkeypatch):
    monkeypatch.setattr(baseline, "FEWEST_MOMENTS", 20)
    setting(noise, "precision", ("fp32", "bf16"), (0.042, 0.020))
    assert "moments" not in answers(noise).baseline.text


def test_without_a_baseline_nothing_is_said_of_it(project):
    project.suite("SeqLen", "seq_len", (128,))
    project.record("SeqLen", 128, [failure(USUAL.but(seq_len=128), "failed", "no")])
    assert answers(project).baseline is None


def test_what_costs_most_is_told_and_neither_noise_nor_what_is_the_same(noise):
    setting(noise, "precision", ("fp32", "bf16", "mixed"), (0.042, 1.05, 0.9))
    setting(noise, "allocator", ("glibc", "mimalloc"), (0.042, 0.0421))
    setting(noise, "pinning", ("none", "close"), (0.042, 0.063))
    known = answers(noise)
    assert re.fullmatch(
        r"Slows it down here: precision bf16: 2[45]\.\dx \[.*], pinning close: 1\.[45]\d?x \[.*]\.",
        known.slower.text,
    ), known.slower.text
    assert [row["value"] for row in known.slower.rows] == ["bf16", "close"]


@pytest.mark.parametrize(("engine", "is_told"), [("jax", True), ("ipex", False)])
def test_an_engine_beside_another_release_of_torch_is_no_setting(noise, engine, is_told):
    noise.suite("Again", "copy", ("A",))
    noise.cell("Again", "A", 0.042, USUAL.but(engine=engine))  # its noise
    setting(noise, "engine", ("torch", engine), (0.042, 0.063))
    assert (answers(noise).slower is not None) == is_told


def test_where_nothing_is_slower_nothing_is_said_of_it(noise):
    setting(noise, "precision", ("fp32", "bf16"), (0.042, 0.021))
    assert answers(noise).slower is None


def test_what_pays_is_what_was_told_to_be_faster_and_the_surest_comes_first(noise):
    setting(noise, "precision", ("fp32", "bf16", "mixed"), (0.042, 0.021, 0.030))
    setting(noise, "allocator", ("glibc", "jemalloc", "mimalloc"), (0.042, 0.036, 0.0418))
    setting(noise, "pinning", ("none", "close"), (0.042, 0.050))
    known = answers(noise)
    assert [change.what for change in known.changes] == [
        "precision: bf16 instead of fp32",
        "allocator: jemalloc instead of glibc",
    ]
    assert known.changes[0].paste == ("model.to(torch.bfloat16)",)
    assert known.changes[1].paste == ("LD_PRELOAD=libjemalloc.so.2",)
    assert all(change.is_confirmed for change in known.changes)  # by the second pass


def test_cores_that_pay_are_pasted_as_the_cpus_of_the_record(noise):
    mask = {"cpus": [2, 6], "physical_cores": 2, "threads": 2, "omp_threads": 2}
    noise.suite("Cores", "cores", ("all", 2))
    noise.cell("Cores", "all", 0.042)
    noise.cell("Cores", 2, 0.030, USUAL.but(cores=2), placement=mask)
    (change,) = answers(noise).changes
    assert change.paste == ("taskset --cpu-list 2,6",)


def test_what_trains_something_else_does_not_pay(noise):
    setting(noise, "n_layer", (4, 2), (0.042, 0.021))
    setting(noise, "activation", ("gelu", "relu"), (0.042, 0.030))
    setting(noise, "optimizer", ("adamw", "sgd"), (0.042, 0.030))
    setting(noise, "batch_size", (1, 2), (0.042, 0.030))
    known = answers(noise)
    assert known.changes == () and known.none_pays is None


def test_as_many_rows_in_one_update_train_the_same(noise):
    base = USUAL.but(batch_size=16)
    noise.suite("GradAccumulation", "grad_accum", (1, 4))
    noise.cell("GradAccumulation", 1, 0.042, base)
    noise.cell("GradAccumulation", 4, 0.050, base.but(batch_size=4, grad_accum=4))
    assert len(answers(noise).none_pays.rows) == 1


def test_what_is_measured_beside_another_experiment_is_no_change_of_the_baseline(noise):
    base = USUAL.but(seq_len=1024)
    noise.suite("Allocator", "allocator", ("glibc", "jemalloc"))
    noise.cell("Allocator", "glibc", 0.2, base, reference=0.2)
    noise.cell("Allocator", "jemalloc", 0.1, base.but(allocator="jemalloc"), reference=0.2)
    assert answers(noise).changes == ()


def test_one_pass_confirms_nothing(noise):
    setting(noise, "precision", ("fp32", "bf16"), (0.042, 0.021), workers=1)
    (change,) = answers(noise).changes
    assert not change.is_confirmed


def test_what_the_first_pass_did_not_name_later_ones_do_not_confirm(noise):
    setting(noise, "pinning", ("none", "close"), (0.042, 0.030), workers=4, first_s=0.044)
    (change,) = answers(noise).changes
    assert change.entry.is_faster_later and not change.is_confirmed


def test_of_two_values_later_passes_confirm_the_one_that_the_first_named(noise):
    setting(noise, "precision", ("fp32", "bf16"), (0.042, 0.030), workers=4, first_s=0.030)
    mixed = {"experiment": USUAL.but(precision="mixed"), "workers": 4}
    noise.suite("Precision", "precision", ("fp32", "bf16", "mixed"))
    noise.cell("Precision", "mixed", 0.034, first_s=0.026, **mixed)
    (change,) = answers(noise).changes
    assert change.what.startswith("precision: bf16") and not change.is_confirmed


def test_where_nothing_is_faster_it_is_said_of_how_many(noise):
    setting(noise, "pinning", ("none", "close", "spread"), (0.042, 0.050, 0.060))
    known = answers(noise)
    assert known.none_pays.text == "Of 2 settings of the same work none was told to be faster."
    assert {row["value"] for row in known.none_pays.rows} == {"close", "spread"}


def test_what_makes_no_difference_was_told_to_be_the_same(noise):
    setting(noise, "pinning", ("none", "close", "spread"), (0.042, 0.042, 0.030))
    known = answers(noise)
    assert known.alike.text == "Makes no difference here, within 2.0 %: pinning close."
    assert [row["verdict"] for row in known.alike.rows] == ["same"]


@pytest.mark.parametrize(
    ("throttled_s", "said"),
    [
        (0.0, "others had the CPUs, or they were moved, which is in this time: .* doctor says who"),
        (0.02, "a CPU quota held threads back, which is in this time: .* doctor says what to do"),
    ],
)
def test_a_busy_machine_s_time_is_told_to_be_one(noise, throttled_s, said):
    made = {"disturbed": EVERY_PAIR, "throttled_s": throttled_s}
    setting(noise, "precision", ("fp32", "bf16"), (0.042, 0.020), **made)
    assert "pairs of blocks" not in answers(noise).baseline.text
    setting(noise, "wait_policy", ("default", "passive"), (0.042, 0.0435), **made)
    setting(noise, "pinning", ("none", "close"), (0.042, 0.0435), **made)
    text = answers(noise).baseline.text
    assert re.search(rf"During \d+ of \d+ pairs of blocks {said}", text), text


def test_failures_and_skips_are_told_apart(noise):
    noise.suite("CoreCount", "cores", (4, 8))
    noise.record("CoreCount", 4, [failure(USUAL.but(cores=4), "skipped", "only 2 CPUs")])
    noise.record("CoreCount", 8, [failure(USUAL.but(cores=8), "failed", "NaN")])
    known = answers(noise)
    assert known.lost.text == "Gave no number: CoreCount 8; the tables say why."
    assert known.not_run.text == "Not possible here: 1 cell, each with its reason."


def test_a_terminal_has_it_line_by_line(noise):
    setting(noise, "precision", ("fp32", "bf16"), (0.042, 0.021))
    lines = first_screen.lines(answers(noise))
    assert lines[0].startswith("A training step of the baseline")
    assert lines[1].startswith("What pays most here, at unchanged work")
    assert lines[2].startswith("  precision: bf16 instead of fp32  0.")
    assert lines[2].endswith(", confirmed  model.to(torch.bfloat16)")
