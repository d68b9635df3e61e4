"""What the watch of a run saw, in one line each."""

import pytest
from msgspec import structs

from cputrain.record.notices import Drift, Memory, Seen, Usual
from cputrain.report.watched import line

pytestmark = pytest.mark.tools
GIB = 1 << 30
MEMORY = Memory(step=0, used_bytes=4 * GIB, limit_bytes=16 * GIB, limited_by="this machine")
DRIFT = Drift(
    first=1200,
    ratio=1.25,
    step_s=0.25,
    usual_s=0.2,
    cause="neighbour",
    shares={"quota": 0.0, "neighbour": 0.18, "clock": 0.01},
    clock_ghz=2.5,
    usual_clock_ghz=3.1,
    round_trip_ns=344.8,
    usual_round_trip_ns=57.3,
    unread={"heat": "no thermal_throttle counters of these CPUs"},
)


def test_memory_there_is_and_memory_that_is_high():
    assert line(MEMORY) == "memory: 4.0 of 16.0 GiB (25 %) of this machine in use"
    high = structs.replace(MEMORY, step=1200, used_bytes=14 * GIB, is_high=True)
    assert line(high).startswith("step 1 200: memory: 14.0 of 16.0 GiB (88 %) of this machine")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("quota", "throttled, a CPU quota held it back for 0.0 % of the time"),
        ("neighbour", "a neighbour, others had its CPUs for 18 % of the time"),
        ("host", "steal"),
        ("sibling", "a neighbour, others use the other hardware threads of its cores"),
        ("heat", "throttled, a CPU is too hot, 2.50 GHz where 3.10 were usual"),
        ("clock", "the clock, 2.50 GHz where 3.10 were usual"),
        (
            "place",
            "a hypervisor has moved its CPUs, a round trip between two of them takes 345 ns where "
            "57 were usual",
        ),
        (
            "not known",
            "cause not known; of the 20 % lost: quota 0.0 %, neighbour 18 %, clock 1.0 %; not "
            "readable here: heat",
        ),
    ],
)
def test_a_drift_names_its_cause(cause, words):
    text = line(structs.replace(DRIFT, cause=cause))
    assert text.startswith("from step 1 200: steps take 1.25x the usual 200 ms: ")
    assert words in text and "\n" not in text


def test_cpus_that_were_put_on_one_core():
    text = line(structs.replace(DRIFT, cause="place", is_one_core=True))
    assert text.endswith(": a hypervisor has put two of its CPUs on one core")


def test_one_that_is_over_and_one_to_the_better():
    over = line(structs.replace(DRIFT, last=2400))
    assert over == ("steps take their usual time again; 1 200 to 2 400 took 1.25x the usual 200 ms")
    faster = line(structs.replace(DRIFT, ratio=0.8))
    assert "0.800x the usual" in faster or "0.80x the usual" in faster
    assert "which is usual now; before: a neighbour" in faster


def test_a_steady_usual_time_is_no_news():
    assert line(Usual(step=16, step_s=0.2, is_steady=True)) == ""
    assert "not steady" in line(Usual(step=61, step_s=0.2, is_steady=False))


def test_the_record_has_each_drift_once():
    over = structs.replace(DRIFT, last=2400)
    seen = Seen()
    for notice in (MEMORY, Usual(step=16, step_s=0.2, is_steady=True), DRIFT, over):
        seen = seen.also(notice)
    assert seen.drifts == [over] and seen.memory == [MEMORY] and seen.usual.step == 16
