"""What is said of processes that train together."""

import pytest
from settled import settled

from cputrain.record.process import Placement
from cputrain.report import together

pytestmark = pytest.mark.tools
PLACED = Placement((0, 1, 2, 3), 4, 4, 2, ((0, 1), (2, 3)))
ALONE = Placement((0, 1, 2, 3), 4, 4, 4)


def test_the_share_of_each_process():
    experiment = settled(batch_size=6, grad_accum=4, processes=2)
    line = "2 processes, each with 3 sequences of 4 micro-batches and 2 threads; CPUs 0,1 | 2,3"
    assert together.lines(experiment, PLACED, None) == [line]
    assert together.lines(experiment, PLACED, 2) == [line]
    (line,) = together.lines(experiment.but(batch_size=1), PLACED, None)
    assert "1 sequence of 2 micro-batches" in line
    assert together.lines(experiment.but(processes=None), ALONE, None) == []


def test_another_number_of_processes_than_before():
    experiment = settled(dropout=0.0)
    (line,) = together.lines(experiment, ALONE, 2)
    assert line == "2 processes before, 1 from here on: losses agree to rounding"
    dropping = experiment.but(dropout=0.1, attention_backend="manual")
    (line,) = together.lines(dropping, ALONE, 2)
    assert line.endswith("to rounding, but for dropout, which draws other numbers")
    (line,) = together.lines(experiment.but(architecture="moe"), ALONE, 2)
    assert "but for the router" in line
