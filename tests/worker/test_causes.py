"""What makes steps slow, told apart by made counters."""

import dataclasses
import os

import pytest

from cputrain.machine import two_cpus
from cputrain.worker.training.causes import Counters, cause, pooled
from cputrain.worker.training.counters import place, since

QUIET = Counters(
    *(10.0, 0.0, 0.1, 0.0, 0.0), clock_ghz=3.0, heat_events=0, round_trip_ns=57.0, at_once=1.0
)


def but(**fields):
    return dataclasses.replace(QUIET, **fields)


@pytest.mark.parametrize(
    ("slow", "name"),
    [
        (but(throttled_s=4.0), "quota"),
        (but(waited_s=4.1), "neighbour"),
        (but(stolen_s=4.0), "host"),
        (but(sibling_s=9.0), "sibling"),
        (but(sibling_s=3.0), "not known"),  # such a thread takes half of a core at most
        (but(sibling_s=9.0, clock_ghz=2.0), "sibling"),
        (but(clock_ghz=2.0), "clock"),
        (but(clock_ghz=2.0, heat_events=3), "heat"),
        (but(clock_ghz=None, heat_events=3), "heat"),
        (but(heat_events=3), "not known"),  # it got hot, and no slower
        (but(), "not known"),
        (but(waited_s=1.0, clock_ghz=2.9), "not known"),  # too little of it
        (but(waited_s=1.0, clock_ghz=2.2), "clock"),
        (but(waited_s=4.5, clock_ghz=2.6), "neighbour"),
        (but(throttled_s=6.0, waited_s=6.0, clock_ghz=1.0), "quota"),
        (but(round_trip_ns=345.0), "place"),
        (but(round_trip_ns=90.0), "not known"),  # no further than it may be where none was moved
        (but(at_once=1.7), "place"),
        (but(round_trip_ns=345.0, waited_s=1.0), "place"),
        (but(round_trip_ns=345.0, waited_s=3.0), "neighbour"),
        (but(round_trip_ns=None), "not known"),
    ],
)
def test_the_cause_is_what_explains_most_of_the_time_lost(slow, name):
    assert cause(slow, QUIET, 10 / 6).name == name


def test_what_the_fast_steps_lost_too_is_no_cause():
    busy = but(waited_s=5.0)
    assert cause(but(waited_s=4.0), busy, 1.25).name == "not known"
    # Of two at work on a CPU and then three, the third is what slows it, and all of it.
    told = cause(but(waited_s=20 / 3), busy, 1.5)
    assert told.name == "neighbour" and told.shares["neighbour"] == pytest.approx(1 / 3)


def test_a_place_explains_what_the_others_do_not():
    told = cause(but(round_trip_ns=345.0, waited_s=1.1), QUIET, 1.25)
    assert told.shares["place"] == pytest.approx(0.2 - told.shares["neighbour"])
    assert told.shares["neighbour"] > 0.09 and not told.is_one_core
    assert cause(but(at_once=1.7), QUIET, 1.25).is_one_core
    # Where both sides are on one core, or the fast one is, that slows nothing down.
    one_core = but(round_trip_ns=20.0, at_once=1.7)
    for slow, fast in ((but(at_once=1.7), but(at_once=1.7)), (QUIET, one_core)):
        told = cause(slow, fast, 1.25)
        assert told.name == "not known" and not told.is_one_core and "place" not in told.shares


def test_what_cannot_be_read_is_named_and_never_a_cause():
    blind = Counters(10.0, unread={"clock": "no chain", "heat": "no counters"})
    told = cause(blind, blind, 2.0)
    assert told.name == "not known" and told.shares == {}
    assert told.unread == {"clock": "no chain", "heat": "no counters"}
    assert cause(but(clock_ghz=1.5), but(clock_ghz=None), 2.0).shares.keys() == {
        *("quota", "neighbour", "host", "sibling")
    }


def test_several_windows_as_one():
    whole = pooled([but(clock_ghz=3.2), but(clock_ghz=None, waited_s=0.3), but(clock_ghz=2.8)])
    assert whole.wall_s == 30 and whole.clock_ghz == 3.0
    assert whole.waited_s == pytest.approx(0.5)
    assert pooled([QUIET, but(stolen_s=None)]).stolen_s is None
    apart = pooled(
        [but(round_trip_ns=ns, at_once=x) for ns, x in ((345, 1), (57, 1.7), (350, 1.8))]
    )
    assert (apart.round_trip_ns, apart.at_once) == (345, 1.7)
    assert pooled([but(round_trip_ns=None)]).round_trip_ns is None


SEEN = {
    "wall_s": 10.0,
    "throttled_s": 1.0,
    "run_queue_share": 0.5,
    "lost_share": 0.6,
    "steal_share": 0.25,
    "clock_ghz": None,
    "clock_ghz_reason": "no chain",
}


def test_readings_by_their_cause():
    counters = since(SEEN, 2, {"heat": 3, "sibling": 1.5}, {"heat": 5, "sibling": 2.0})
    assert counters.throttled_s == 0.5 and counters.heat_events == 2
    assert counters.sibling_s == 0.5
    assert counters.waited_s == pytest.approx(6.0 - 0.5 - 1.0)
    assert counters.stolen_s == 5.0
    assert counters.clock_ghz is None and counters.unread == {"clock": "no chain"}
    silent = {"run_queue_share": None, "run_queue_share_reason": "no schedstat"}
    blind = since(SEEN | silent, 2, *[{"heat": "no counters", "sibling": "no topology"}] * 2)
    assert blind.waited_s is None and blind.heat_events is None and blind.sibling_s is None
    assert blind.unread == {
        "clock": "no chain",
        "neighbour": "no schedstat",
        "heat": "no counters",
        "sibling": "no topology",
    }
    assert (blind.round_trip_ns, blind.at_once) == (None, None)


def test_where_the_cpus_are_is_read_where_they_may_be_moved(monkeypatch):
    cpus = sorted(os.sched_getaffinity(0))
    assert place(cpus[:1]) == {}
    monkeypatch.setattr(two_cpus, "is_guest", lambda *_: False)
    assert place([0, 1]) == {}
    monkeypatch.undo()
    placed = SEEN | {"round_trip_ns": 345.0, "at_once": 1.1}
    totals = {"heat": 3, "sibling": 1.5}
    counters = since(placed, 2, totals, totals)
    assert (counters.round_trip_ns, counters.at_once) == (345.0, 1.1)
    lost = {"round_trip_ns": None, "round_trip_ns_reason": "something else had CPU 1"}
    assert since(placed | lost, 2, totals, totals).unread["place"] == "something else had CPU 1"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is never moved apart")
def test_a_guest_reads_them_or_says_why_not():
    read = place(sorted(os.sched_getaffinity(0)))
    for name in read and ("round_trip_ns", "at_once"):
        assert read[name] or read[f"{name}_reason"]
