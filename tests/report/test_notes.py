"""The notes beside the rows."""

import pytest

from cputrain.report.notes import note
from cputrain.results.columns import SCHEMA

OK = dict.fromkeys(SCHEMA) | {"status": "ok", "step_s": 0.04, "mode": "full", "samples": 6}


@pytest.mark.parametrize(
    ("varied", "columns", "said"),
    [
        ("rows", {"epoch_s": 73.0, "prepared_s": 0.12}, "an epoch takes 73 s, tokenizing took"),
        ("rows", {"epoch_s": 73.0}, "an epoch takes 73 s"),
        ("loader_workers", {"wait_share": 0.031}, "waits for data 3.1 % of the time"),
        ("packing", {"counted_share": 0.5}, "50 % of the tokens count"),
        ("optimizer", {"optimizer_state_bytes": 80, "n_params": 10}, "8 bytes of state per"),
        ("architecture", {"n_params": 3_290_880}, "3.29 M parameters"),
    ],
)
def test_a_variable_s_own_column_is_told_where_it_is_known(varied, columns, said):
    assert note(OK | columns, varied).startswith(said)
    assert note(OK | columns, "seq_len") == ""
    assert note(OK, varied) == ""


def test_a_failure_is_told_with_its_reason():
    failed = OK | {"status": "failed", "reason": "wte has not moved"}
    assert note(failed, "optimizer") == "failed: wte has not moved"
