"""Cells that take as long as several others come last, and none is lost."""

import re

import pytest
from found_suites import ALL

from cputrain.run import stacks
from cputrain.sweep import long_cells
from cputrain.sweep.calls import calls
from cputrain.sweep.fitting import lacking
from cputrain.sweep.plan import in_order

pytestmark = pytest.mark.tools

MAIN = [planned for planned in ALL if planned.stack == stacks.MAIN]


@pytest.fixture
def parts(monkeypatch):
    """With cells of 2 048 channels or 64 sequences, and all first steps, taken to be long."""

    def guess_s(experiment, reference, **_):
        model, training = experiment.model, experiment.training
        is_long = model.n_embd == 2048 or training.batch_size == 64
        return 99.0 if is_long or experiment.runtime.jit_state != "steady" else 1.0

    monkeypatch.setattr(long_cells, "guess_s", guess_s)
    return long_cells.apart(MAIN)


def of(parts, key):
    return [cell.name for part in parts if part.key == key for cell in part.cells]


def test_long_cells_are_apart_and_every_cell_is_in_one_part(parts):
    assert of(parts, "Width, long cells") == ["2048-torch"]
    assert of(parts, "BatchSize, long cells") == ["64-torch"]
    whole = sorted((p.name, cell.name) for p in MAIN for cell in p.cells)
    assert sorted((part.name, cell.name) for part in parts for cell in part.cells) == whole


def test_they_come_last_in_calls_of_their_own(parts):
    assert [part.is_long for part in in_order(parts)] == sorted(part.is_long for part in parts)
    cut = list(calls(parts, {part.key: 1.0 for part in parts}))
    assert all(len({part.name for part in call.suites}) == len(call.suites) for call in cut)
    (last,) = [call for call in cut if call.suites[0].is_long]
    assert re.search(last.pattern(), "model.Width.time_train_steps(2048, 'torch')")
    assert not re.search(last.pattern(), "model.Width.time_train_steps(512, 'torch')")


def test_what_other_cells_need_or_that_needs_them_stays(parts, monkeypatch):
    def guess_s(experiment, reference, **_):
        return 99.0 if experiment.model.n_embd != 128 else 1.0

    monkeypatch.setattr(long_cells, "guess_s", guess_s)
    all_but_one = long_cells.apart(MAIN)
    assert "256-torch" in of(all_but_one, "Width")  # the baseline of 128 channels
    assert "512-torch" in of(all_but_one, "Width")  # of a quick run
    assert "512-jax" in of(all_but_one, "Width, long cells")
    assert of(all_but_one, "FineTuning, long cells") == []
    assert of(all_but_one, "Baseline, long cells") == []  # tells the noise
    assert of(all_but_one, "Design, long cells") == []  # `predict` rests on it


def test_first_steps_wait_together(parts):
    assert "steady-torch" in of(parts, "JitWarmup, long cells")
    assert of(parts, "JitWarmup") == []


def test_a_baseline_whose_cells_all_wait_does_too(parts, monkeypatch):
    def guess_s(experiment, reference, **_):
        return 99.0 if experiment.runtime.compile == "inductor" else 1.0

    monkeypatch.setattr(long_cells, "guess_s", guess_s)
    compiled = long_cells.apart(MAIN)
    assert {"on-torch", "off-torch"} <= set(of(compiled, "KernelFusion, long cells"))
    assert "off-jax" in of(compiled, "KernelFusion")


def test_a_suite_waits_whole_where_its_other_cells_were_measured_before(parts, monkeypatch):
    def guess_s(experiment, reference, **_):
        return 99.0 if experiment.runtime.compile in ("inductor", "aot_eager") else 1.0

    monkeypatch.setattr(long_cells, "guess_s", guess_s)
    assert of(long_cells.apart(MAIN), "TorchCompile") == []


def test_the_first_ones_are_those_that_matter_to_most(parts, monkeypatch):
    monkeypatch.setattr(long_cells, "guess_s", lambda *_, **__: 99.0)
    long = [part for part in in_order(long_cells.apart(MAIN)) if part.is_long]
    lates = [part.suite.late for part in long]
    assert long[0].suite.quick
    assert lates == sorted(lates)


def test_suites_are_lacking_as_a_whole_or_in_part(parts):
    width = [part for part in parts if part.name == "Width"]
    assert lacking(parts, width[1:], []) == ["the rest of Width"]
    assert lacking(parts, width, []) == ["Width"]
    assert lacking(parts, width, ["Width"]) == ["the rest of Width"]
    assert lacking(parts, [], []) == []
