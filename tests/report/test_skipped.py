"""What is skipped, by reason."""

import pytest

from cputrain.report.skipped import by_reason, general
from cputrain.results.columns import SCHEMA

pytestmark = pytest.mark.tools


def row(suite, value, status="skipped", reason="only 2 CPUs are allowed here"):
    names = {"suite": suite, "value": value, "status": status, "reason": reason}
    return dict.fromkeys(SCHEMA) | names


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
    assert general(row("CoreCount", value, reason=reason)) == said


def test_suites_and_values_of_one_reason_are_one_entry():
    rows = [
        row("CoreCount", "1", "ok", None),
        row("CoreCount", "3", reason="only 2, not 3"),
        row("CoreCount", "4", reason="only 2, not 4"),
        row("Turbo", "on", reason="no cpufreq"),
        row("Turbo", "off", reason="no cpufreq"),
        row("Governor", "ondemand", reason="no cpufreq"),
        row("Governor", "powersave", "ok", None),
    ]
    assert by_reason(rows) == [
        ("CoreCount (3, 4)", "only 2"),
        ("Turbo, Governor (ondemand)", "no cpufreq"),
    ]


def test_failures_and_what_did_not_run_are_no_skips():
    rows = [row("Depth", "2", "failed", "no loss")]
    assert by_reason(rows) == []
