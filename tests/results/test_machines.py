"""What was measured of a machine, in the tables and on the page."""

import json
import re

import pytest

pytest.importorskip("asv")

from cputrain.report.export import export
from cputrain.results import machines

pytestmark = pytest.mark.tools

CONTENT = {
    "date": "2026-11-21T10:00:00+00:00",
    "torch": "2.13.0+cpu",
    "fp32_matmul_flops": {"2": 2.409e11, "16": 1.8e12, "1": 1.217e11},
    "int8_matmul_flops": {"2": 4e11},
    "bandwidth_bytes_per_s": {"1": 2.2e10, "2": 3.53e10},
}


def measured(sweep, content):
    path = sweep.root / "result" / "here" / "machine.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def test_rates_by_threads(sweep):
    measured(sweep, CONTENT)
    machine, problems = machines.read(sweep.root, "here")
    assert not problems
    assert machine.date == "2026-11-21T10:00:00+00:00"
    assert machine.bandwidth == {"1": 2.2e10, "2": 3.53e10} and "bandwidth" not in machine.peaks
    assert machine.rates == [
        ("1", {"fp32": 1.217e11, "int8": None, "bandwidth": 2.2e10}),
        ("2", {"fp32": 2.409e11, "int8": 4e11, "bandwidth": 3.53e10}),
        ("16", {"fp32": 1.8e12, "int8": None, "bandwidth": None}),
    ]


def test_the_page_shows_them(sweep):
    measured(sweep, CONTENT)
    export(sweep.root)
    text = (sweep.root / "result" / "README.md").read_text()
    heads = ("fp32 matrix product, GFLOP/s", "int8 matrix product, GOP/s", "memory triad, GB/s")
    head = f"| threads | {' | '.join(heads)} |"
    at = text.index(head)
    assert text[at:].splitlines()[1:5] == [
        "|--:|--:|--:|--:|",
        "| 1 | 122 |  | 22.0 |",
        "| 2 | 241 | 400 | 35.3 |",
        "| 16 | 1 800 |  |  |",
    ]
    assert "Measured on 2026-11-21, the best of all readings:" in text[:at]


@pytest.mark.parametrize(
    ("pinned", "said"),
    [
        (True, "readings, threads on cores of their own:"),
        (False, "readings; in the last of them threads could not be bound to cores:"),
    ],
)
def test_the_page_says_whether_threads_were_bound(sweep, pinned, said):
    measured(sweep, {**CONTENT, "pinned": pinned})
    export(sweep.root)
    assert said in (sweep.root / "result" / "README.md").read_text()


def test_a_machine_of_which_nothing_was_measured(sweep):
    machine, problems = machines.read(sweep.root, "here")
    assert (machine.rates, machine.date, problems) == ([], None, [])
    export(sweep.root)
    assert "| threads |" not in (sweep.root / "result" / "README.md").read_text()


@pytest.mark.parametrize("field", [{"x": 1.0}, {"1": "fast"}, [1]])
def test_a_damaged_file_is_told_and_nothing_of_it_is_used(sweep, field):
    path = measured(sweep, {**CONTENT, "bandwidth_bytes_per_s": field})
    machine, (problem,) = machines.read(sweep.root, "here")
    assert problem.path == path and "delete it" in str(problem)
    assert (machine.peaks, machine.rates) == ({}, [])


@pytest.mark.parametrize("peak", ["NaN", "Infinity", "-1.0", "0"])
def test_a_peak_that_is_no_rate_is_told_and_never_shown(sweep, peak):
    measured(sweep, CONTENT)
    path = sweep.root / "result" / "here" / "machine.json"
    path.write_text(path.read_text().replace("240900000000.0", peak))
    assert peak in path.read_text()
    summary = export(sweep.root)
    (problem,) = summary.problems
    assert "fp32_matmul_flops has a rate that is no positive number" in str(problem)
    assert all(row["mfu"] is None for row in summary.rows_of("here"))
    for written in (sweep.page(), (sweep.root / "result" / "results.csv").read_text()):
        assert not re.search(r"\b(nan|inf)\b", written, re.IGNORECASE)


def test_one_core_is_no_plural():
    assert machines.MachineFacts("m", {"cores": "1", "num_cpu": "2"}, {}).line == "1 core, 2 CPUs"
    part = machines.MachineFacts("m-1cpu", {"cores": "2", "arch": "arm64"}, {})
    assert part.line == "2 cores, 1 CPU of them used, arm64"


@pytest.mark.parametrize(
    "facts, caches",
    [
        ({"l3": "491520K x 1"}, 491520 * 1024),
        ({"l3": "32768K x 2, 16384K x 1", "l2": "1024K x 8"}, 81920 * 1024),
        ({"l2": "2048K x 2"}, 4096 * 1024),
        ({"l3": None}, None),
        ({"l3": "as much as you like"}, None),
    ],
)
def test_the_last_caches_are_those_of_the_last_level_that_is_known(facts, caches):
    assert machines.MachineFacts("m", facts, {}).last_caches == caches
