"""A prediction in words, of a made machine whose costs are known; the report's part about costs."""

import pytest
from settled import settled

from cputrain.analysis.cost.costs import DriftAt
from cputrain.analysis.cost.predict import predict
from cputrain.experiment import Experiment
from cputrain.report import cost_plot, cost_table, figure, prediction
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
    assert "1 000 steps, 0.256 million tokens: " in text
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
