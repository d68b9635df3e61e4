"""A prediction in words, of a made machine whose costs are known; the report's part about costs."""

import dataclasses

import pytest
from settled import settled

from cputrain.analysis.cost.costs import DriftAt
from cputrain.analysis.cost.predict import predict
from cputrain.experiment import Experiment
from cputrain.report import cost_plot, cost_table, figure, prediction, words
from cputrain.report.picture import color

pytestmark = pytest.mark.tools


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.syspath_prepend("tests/analysis/cost")
    import made_costs

    made = made_costs.costs(noise=0.02)
    drift = [DriftAt(60.0, 0.9, 1.1)]
    return type(made)(made.peak, made.bandwidth, made.threads, made.engines, drift)


def test_lines_say_ratio_seconds_hours_and_what_lies_outside(machine):
    experiment = Experiment().but(n_layer=32)
    known = predict(settled(n_layer=32), machine)
    run = prediction.PredictedRun(1000, 256)
    lines = prediction.lines(experiment, known, run, machine.engines["torch"], has_length=True)
    text = "\n".join(lines)
    assert f"a step takes {known.ratio:.2f}x [" in text and "of the baseline's on torch" in text
    reference = words.seconds(known.reference_s)
    assert (
        f"of the baseline's on torch, which takes {reference} here, the median over all workers of "
        "the newest run that had it beside them" in text
    )
    assert "1 000 steps, 256 000 tokens: " in text
    assert "outside the calibrated range: n_layer 32 (calibrated 1 to 8)" in text
    assert "memory at the peak: not known" in text
    assert "learned from 22 cells; with whole levels left out it was off by" in text
    assert "and such intervals held" in text


def test_what_other_cells_predict_badly_is_said(machine):
    its = machine.engines["torch"]
    its.time.doubtful["activation_checkpointing True"] = -0.2
    experiment = Experiment().but(activation_checkpointing=True)
    known = predict(settled(activation_checkpointing=True), machine)
    run = prediction.PredictedRun(1, 256)
    text = "\n".join(prediction.lines(experiment, known, run, its, has_length=False))
    assert "activation_checkpointing True (its cells are predicted 18 % too short)" in text
    row = prediction.GridRow(("4",), 3.3, known, run)
    assert "doubtful: activation_checkpointing True" in prediction.table(("n_layer",), [row])[1]
    assert predict(settled(), machine).doubts == []


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (1, "1 step, 256 tokens: 50.0 ms [45.2 ms, 55.3 ms]"),
        (10, "10 steps, 2 560 tokens: 500 ms [452 ms, 553 ms]"),
        (100, "100 steps, 25 600 tokens: 5.0 s [4.5 s, 5.5 s]"),
        (100_000, "100 000 steps, 25.6 million tokens: 83 min [75 min, 92 min]"),
    ],
)
def test_a_run_has_its_steps_and_a_time_with_useful_digits(machine, steps, line):
    sure = {"at_peak_s": 0.0, "half": 0.1, "drift": [DriftAt(60.0, 1.0, 1.0)]}
    known = dataclasses.replace(predict(settled(), machine), seconds=0.05, **sure)
    run, its = prediction.PredictedRun(steps, 256), machine.engines["torch"]
    assert line in prediction.lines(Experiment(), known, run, its, has_length=True)


GIB = 2**30


@pytest.mark.parametrize(
    ("gib", "span", "said"),
    [
        (20, (18, 23), None),
        (20, (18, 24), "it may not fit"),
        (24, (20, 30), "it may not fit"),
        (30, (24, 36), "it does not fit"),
        (23, None, None),
        (30, None, "it may not fit"),
    ],
)
def test_memory_that_the_machine_has_not_is_said(machine, gib, span, said):
    """Here with 23.5 GiB; where an interval's low end is beyond it is sure."""
    run, its = prediction.PredictedRun(1, 256), machine.engines["torch"]
    known = dataclasses.replace(
        predict(settled(), machine),
        memory_bytes=gib * GIB,
        memory_span=span and tuple(end * GIB for end in span),
        machine_bytes=round(23.5 * GIB),
    )
    lines = prediction.lines(Experiment(), known, run, its, has_length=True)
    row = prediction.table(("n_layer",), [prediction.GridRow(("4",), 3.3, known, run)])[1]
    if said is None:
        assert "fit" not in "".join([*lines, row])
    else:
        assert lines[3] == f"the machine has 23.5 GiB: {said}"
        assert row.endswith(f"  {said}: the machine has 23.5 GiB")
    unknown = dataclasses.replace(known, machine_bytes=0)
    assert "fit" not in "".join(prediction.lines(Experiment(), unknown, run, its, True))


def test_a_grid_says_why_a_row_has_no_number(machine):
    run = prediction.PredictedRun(3600, 256)
    known = predict(settled(), machine)
    rows = [
        prediction.GridRow(("4", "256"), 3.3, known, run),
        prediction.GridRow(("4", "250"), why_not="n_head = 4: n_embd = 250 does not divide by it"),
    ]
    head, good, bad = prediction.table(("n_layer", "n_embd"), rows)
    assert head.split()[:2] == ["n_layer", "n_embd"]
    assert f"{known.seconds:.4f}"[:5] in good  # 3 600 steps take as many hours as one seconds
    assert bad.endswith("n_head = 4: n_embd = 250 does not divide by it")


def test_the_picture_has_a_dot_for_each_cell_on_equal_axes(machine):
    compared = cost_plot.of_time(machine)
    drawn = cost_plot.draw("here", compared)
    assert len(drawn.marks) == len(compared["torch"])
    native = cost_plot.draw("here", {"native": compared["torch"]})  # the first here, not its own
    assert {mark.color for mark in native.marks} == {color("native", 0)} != {color("torch", 0)}
    assert b"<svg" in figure.svg(drawn)
    assert cost_plot.picture("here", compared).startswith("data:image/svg+xml;base64,")


def test_tables_have_every_term_and_the_errors_of_left_out_levels(machine):
    rows = cost_table.coefficients(machine)
    assert len(rows) == len(machine.engines["torch"].time.coefficients)
    (errors,) = cost_table.errors(machine)
    assert len(errors) == len(cost_table.ERRORS_HEAD)
    assert errors[:3] == ("step time", "torch", "22")
    assert all(text.endswith("%") for text in errors[3:])
