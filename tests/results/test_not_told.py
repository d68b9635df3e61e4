"""What the first screen says of cells that are not told yet, and rows that make it false."""

import re

import pytest
from made_answers import EVERY_PAIR, USUAL, answers, page, setting
from made_project import failure

from cputrain.report import machine_export, words

pytestmark = pytest.mark.tools


def test_what_is_open_says_how_long_it_would_take(noise):
    setting(noise, "pinning", ("none", "close"), (0.042, 0.0405), workers=1, wall_s=90.0)
    made = page(noise)
    (row,) = made.answers.open.rows
    assert (row["value"], row["verdict"]) == ("close", "not told")
    (candidate,) = made.candidates
    left = words.duration(candidate.seconds)
    assert made.answers.open.text == (
        f"Not told yet: 1 cell. About {left} more would measure it again: "
        "python3 bench.py goes on there."
    )


def test_cells_whose_pairs_were_all_held_up_are_told_of_beside_the_open_ones(noise):
    setting(noise, "pinning", ("none", "close"), (0.042, 0.0405), workers=1, wall_s=90.0)
    setting(noise, "precision", ("fp32", "bf16", "mixed"), (0.042, 0.020, 0.021),
            disturbed=EVERY_PAIR)  # fmt: skip
    known = answers(noise).open
    assert known.text.startswith("Not told yet: 1 cell. ")
    assert known.text.endswith(
        "No effect yet: 2 cells, as others had the CPUs, or moved them, during all pairs: python3 "
        "bench.py doctor says who."
    )
    assert {row["value"] for row in known.rows} == {"close", "bf16", "mixed"}


def test_what_a_quota_held_back_is_told_apart_from_what_others_did(noise):
    setting(noise, "pinning", ("none", "close"), (0.042, 0.0405), disturbed=EVERY_PAIR)
    setting(noise, "precision", ("fp32", "bf16"), (0.042, 0.020), disturbed=EVERY_PAIR,
            throttled_s=0.02)  # fmt: skip
    assert answers(noise).open.text == (
        "No effect yet: 1 cell, as others had the CPUs, or moved them, during all pairs: python3 "
        "bench.py doctor says who. No effect yet: 1 cell, as a CPU quota held threads back during "
        "all pairs: python3 bench.py doctor says what to do."
    )


@pytest.mark.parametrize(("mode", "flag"), [("full", ""), ("quick", " --quick")])
def test_what_is_open_goes_on_by_a_run_of_its_kind(project, mode, flag):
    project.suite("Baseline", "copy", ("A", "B", "C", "D"))
    for copy in "ABCD":
        project.cell("Baseline", copy, 0.042, mode=mode)
    setting(project, "pinning", ("none", "close"), (0.042, 0.0405), workers=1, wall_s=90.0,
            mode=mode)  # fmt: skip
    assert answers(project).open.text.endswith(f": python3 bench.py{flag} goes on there.")


def test_what_takes_several_runs_says_what_the_next_one_measures(noise):
    """Four cells are planned, two of them told already: of the others one is after 20 minutes."""
    spreads = (0.042, 0.0405, 0.0406)
    setting(noise, "pinning", ("none", "close", "spread"), spreads, workers=1, wall_s=400.0)
    setting(noise, "wait_policy", ("active", "passive"), (0.042, 0.0405), workers=1, wall_s=400.0)
    text = answers(noise).open.text
    assert re.match(
        r"Not told yet: 2 cells\. The next 20 minutes would measure about 1 of them again, "
        r"2\d min all of them: ",
        text,
    ), text


@pytest.mark.parametrize("beside_others", [False, True])
def test_what_has_no_interval_is_told_apart_from_what_differs_by_too_little(noise, beside_others):
    if beside_others:
        setting(noise, "pinning", ("none", "close"), (0.042, 0.0408), workers=1, wall_s=90.0)
    noise.suite("Framework", "engine", ("torch", "numpy"))
    noise.cell("Framework", "torch", 0.042)
    numpy = USUAL.but(engine="numpy", attention_backend="manual")
    noise.cell("Framework", "numpy", 0.084, numpy)
    text = answers(noise).open.text
    bare = "no interval: no A/A pair of its engine counts; python3 bench.py run --bench Baseline "
    bare += "measures one."
    if not beside_others:
        assert text == f"Not told yet: 1 cell. It has {bare}"
        return
    near, _, rest = text.partition(" more would measure 1 of them again: ")
    assert near.startswith("Not told yet: 2 cells. About ")
    assert rest == f"python3 bench.py goes on there. 1 of them has {bare}"


def test_ipex_s_is_measured_in_its_own_environment(noise):
    noise.suite("Framework", "engine", ("torch", "ipex"))
    noise.cell("Framework", "torch", 0.042)
    noise.cell("Framework", "ipex", 0.084, USUAL.but(engine="ipex"))
    text = answers(noise).open.text
    assert text.endswith("counts; python3 bench.py run --ipex --bench Baseline measures one.")


def test_what_no_number_of_passes_would_tell_differs_by_too_little(project):
    project.suite("Baseline", "copy", ("A", "B", "C", "D"))
    for copy, step_s in zip("ABCD", (0.028, 0.064, 0.055, 0.032), strict=True):
        project.cell("Baseline", copy, step_s)
    setting(project, "pinning", ("none", "close"), (0.042, 0.0414), workers=1)
    assert answers(project).open.text == (
        "Not told yet: 1 cell. It differs by too little for what the noise here lets be told in "
        "reasonable time."
    )


def test_what_its_suite_does_not_have_any_more_is_neither_open_nor_lost(noise):
    """The tables have it still; of a suite that is not there all is told."""
    setting(noise, "pinning", ("none", "close"), (0.042, 0.0405), workers=1, wall_s=90.0)
    noise.suite("CoreCount", "cores", (4, 8))
    noise.record("CoreCount", 8, [failure(USUAL.but(cores=8), "failed", "NaN")])
    before = answers(noise)
    assert before.open is not None and before.lost is not None
    there = {"Pinning": {"none", "close"}, "CoreCount": {"4", "8"}}
    gone = {"Pinning": {"none"}, "CoreCount": {"4"}}
    for declared, is_told in ((there, True), (gone, False), ({"Depth": {"2"}}, True)):
        made = machine_export.read(noise.root, "here", (), declared)[0]
        assert made.answers.open == (before.open if is_told else None), declared
        assert made.answers.lost == (before.lost if is_told else None), declared
        assert {"close", "8"} <= {row["value"] for row in made.rows}


def test_what_is_gone_takes_no_time_of_the_next_run(noise):
    """A cell that is open waits for one that is told already, and has one pass too."""
    setting(noise, "pinning", ("none", "close"), (0.042, 0.0405), workers=1, wall_s=400.0)
    setting(noise, "wait_policy", ("active", "passive"), (0.042, 0.0405), workers=1, wall_s=400.0)
    made = page(noise)
    (row,) = made.answers.open.rows
    seconds = {each.key[0]: each.seconds for each in made.candidates}
    (other,) = {*seconds} - {row["suite"]}
    said = "Not told yet: 1 cell. About {} more would measure it again: "
    both = said.format(words.duration(sum(seconds.values())))
    assert made.answers.open.text.startswith(both)
    alone = machine_export.read(noise.root, "here", (), {other: ()})[0].answers.open.text
    assert alone.startswith(said.format(words.duration(seconds[row["suite"]])))
