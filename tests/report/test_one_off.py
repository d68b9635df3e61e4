"""What is paid once in a run."""

import pytest

from cputrain.report import one_off
from cputrain.results import columns

pytestmark = pytest.mark.tools


def row(first_step_s, same_as=None):
    fields = {"status": "ok", "engine": "torch", "jit_state": "steady", "import_s": 2.0}
    its = {"first_step_s": first_step_s, "same_as": same_as}
    return dict.fromkeys(columns.SCHEMA) | fields | its


def test_a_worker_that_several_cells_have_counts_once():
    copies = [row(0.1, "Baseline/A"), row(0.1, "Baseline/A"), row(0.1, "Baseline/A")]
    (start,) = one_off.starts([row(0.1), *copies, row(0.3), row(0.5)])
    assert (start.cells, start.first_step_s) == (3, 0.3)
