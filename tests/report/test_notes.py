"""The notes beside the rows."""

import pytest

from cputrain.report.notes import note
from cputrain.results.columns import SCHEMA

pytestmark = pytest.mark.tools

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
        ("allocator", {"minor_faults_per_step": 2345.6}, "2 350 page faults per step"),
        ("wait_policy", {"voluntary_switches_per_step": 0.0}, "0 voluntary switches per step"),
        ("frequency_ghz", {"clock_ghz": 3.2004}, "clock about 3.20 GHz"),
        ("governor", {"clock_ghz": 1.6}, "clock about 1.60 GHz"),
        ("turbo", {"clock_ghz": 2.4}, "clock about 2.40 GHz"),
        ("huge_pages", {"anon_huge_bytes": 0}, "nothing in huge pages"),
        ("huge_pages", {"anon_huge_bytes": 5 * 2**28}, "1.25 GiB in huge pages"),
        ("matmul_backend", {"engine": "numpy"}, "the engine is another too: compare with numpy's"),
        ("engine", {"engine": "ipex", "torch": "2.8.0"}, "it and what ran beside it have torch"),
    ],
)
def test_a_variable_s_own_column_is_told_where_it_is_known(varied, columns, said):
    assert note(OK | columns, varied).startswith(said)
    assert note(OK | columns, "seq_len") == ""
    assert note(OK, varied) == ""


def test_a_failure_is_told_with_its_reason():
    failed = OK | {"status": "failed", "reason": "wte has not moved"}
    assert note(failed, "optimizer") == "failed: wte has not moved"


def test_the_usual_engine_is_not_told():
    assert note(OK | {"engine": "torch"}, "matmul_backend") == ""
    assert note(OK | {"engine": "jax", "torch": None}, "engine") == ""
