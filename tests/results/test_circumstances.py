"""Noise readings and states of workers as columns."""

import pytest
from made_project import change_sample, worker
from settled import settled

from cputrain.results import circumstances

pytestmark = pytest.mark.tools

READINGS = [
    {"minor_faults": 100, "voluntary_switches": 4, "steal_share": 0.0, "clock_ghz": 3.2},
    {"minor_faults": 20, "voluntary_switches": 0, "steal_share": 0.3, "clock_ghz": None},
    {
        "minor_faults": 30,
        "voluntary_switches": 2,
        "energy_j": 4.5,
        "clock_ghz": 3.4,
        "round_trip_before_ns": 340.0,
        "round_trip_after_ns": 57.0,
    },
]


def made(noise, state=None, **others):
    record = worker(settled(), [[0.04, 0.05]] * len(noise), state=state, **others)
    for index, readings in enumerate(noise):
        change_sample(record, index, noise=readings)
    return record


def test_counts_are_per_step_and_the_median_of_the_samples():
    columns = circumstances.columns([made(READINGS)])
    assert columns["minor_faults_per_step"] == 15
    assert columns["voluntary_switches_per_step"] == 1
    assert columns["clock_ghz"] == pytest.approx(3.3)
    assert columns["round_trip_ns"] == 57
    assert columns["energy_j_per_step"] == pytest.approx(2.25)
    assert columns["steal_share"] == pytest.approx(0.15)
    assert columns["run_queue_share"] is None


def test_a_reckoned_step_has_no_counts():
    columns = circumstances.columns([made(READINGS, composed="sum of 2 micro-batches x 8")])
    assert columns["minor_faults_per_step"] is None
    assert columns["clock_ghz"] == pytest.approx(3.3)


def test_the_most_memory_in_huge_pages_of_all_workers():
    states = [{"anon_huge_bytes": 0}, {"anon_huge_bytes": 2**21}, {"anon_huge_bytes": None}, None]
    workers = [made(READINGS, state) for state in states]
    assert circumstances.columns(workers)["anon_huge_bytes"] == 2**21
    assert circumstances.columns(workers[:1])["anon_huge_bytes"] == 0
    assert circumstances.columns(workers[2:])["anon_huge_bytes"] is None


def test_records_that_lack_all_of_it_give_none():
    columns = circumstances.columns([worker(settled(), [[0.04]])])
    assert set(columns.values()) == {None}
    assert set(circumstances.columns([made([{}, {}])]).values()) == {None}
