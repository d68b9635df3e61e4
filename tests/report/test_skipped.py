"""What is skipped, by reason."""

import pytest

from cputrain.record.cell import CellKey
from cputrain.report.skipped import by_reason, general
from cputrain.results.columns import SCHEMA
from cputrain.results.rows import CellResult

pytestmark = pytest.mark.tools


def cell(suite, value, status="skipped", reason="only 2 CPUs are allowed here", engine=None):
    """A cell of one parameter, or of two where the engine is the second one, and its row."""
    values = (value,) if engine is None else (value, engine)
    names = ("x",) if engine is None else ("x", "engine")
    key = CellKey(suite, values, names)
    made = CellResult("here", key, key.name, "full", status, reason)
    row = {"suite": suite, "value": key.name, "status": status, "reason": reason}
    return made, dict.fromkeys(SCHEMA) | row


@pytest.mark.parametrize(
    ("value", "reason", "said"),
    [
        ("3", "only 2 CPUs are allowed here, not 3", "only 2 CPUs are allowed here"),
        (
            "2",
            "only 2.2 GiB, 12 and 2-core are free: 2.",
            "only 2.2 GiB, 12 and n-core are free: n.",
        ),
        ("0.4", "0.4 GHz is below 0.8, and 10.4 is not", "n GHz is below 0.8, and 10.4 is not"),
        ("max", "max is not known", "max is not known"),
        ("8", None, ""),
    ],
)
def test_a_value_that_is_a_number_is_n_in_its_reason(value, reason, said):
    assert general(*cell("CoreCount", value, reason=reason)) == said


def test_suites_and_values_of_one_reason_are_one_entry():
    rows = [
        cell("CoreCount", "1", "ok", None),
        cell("CoreCount", "3", reason="only 2, not 3"),
        cell("CoreCount", "4", reason="only 2, not 4"),
        cell("Turbo", "on", reason="no cpufreq"),
        cell("Turbo", "off", reason="no cpufreq"),
        cell("Governor", "ondemand", reason="no cpufreq"),
        cell("Governor", "powersave", "ok", None),
    ]
    assert by_reason(rows) == [
        ("CoreCount (3, 4)", "only 2"),
        ("Turbo, Governor (ondemand)", "no cpufreq"),
    ]


def test_failures_and_what_did_not_run_are_no_skips():
    rows = [cell("Depth", "2", "failed", "no loss")]
    assert by_reason(rows) == []


def test_an_engine_that_is_not_there_is_one_entry_and_no_number_of_a_value():
    rows = [
        cell("SeqLen", "128", "ok", None, engine="torch"),
        cell("SeqLen", "128", reason="JAX is not installed", engine="jax"),
        cell("SeqLen", "256", "ok", None, engine="torch"),
        cell("SeqLen", "256", reason="JAX is not installed", engine="jax"),
        cell("Cores", "4", reason="only 2, not 4", engine="torch"),
        cell("Cores", "1", "ok", engine="torch"),
    ]
    assert by_reason(rows) == [
        ("SeqLen on jax", "JAX is not installed"),
        ("Cores on torch (4)", "only 2"),
    ]
