"""Which cells a further pass takes, and the time that it is expected to take."""

import io
import math
import time
from dataclasses import replace

import pytest
from found_suites import ALL
from made_project import SESSION, Project, failure
from rich.console import Console
from settled import settled

from cputrain.analysis.paired import planning
from cputrain.analysis.pass_seconds import pass_s
from cputrain.errors import RunError
from cputrain.run.measured import kept, note
from cputrain.run.session import Session
from cputrain.sweep import passes
from cputrain.sweep.checkpoint import SweepCheckpoint
from cputrain.sweep.durations import SUITE_S, Durations
from cputrain.sweep.progress import Progress
from cputrain.sweep.selection import Choice
from cputrain.sweep.suites import Sweep

pytestmark = pytest.mark.tools

HERE = Session(id=SESSION, run=SESSION, machine="here")


@pytest.fixture
def suites():
    """SeqLen on torch; all its cells can run."""
    (planned,) = (p for p in ALL if p.name == "SeqLen")
    cells = [cell for cell in planned.cells if cell.engine == "torch"]
    return [replace(planned, cells=tuple(replace(cell, why_not=None) for cell in cells))]


@pytest.fixture
def measured(own_root):
    """Workers of cells that differ little from their references; the A/A cells differ as much."""
    project = Project(own_root)
    for suite, values in (("Baseline", ("A-torch", "B-torch")), ("SeqLen", ("128-torch",))):
        project.suite(suite, "value", values, baseline=None if suite == "SeqLen" else values[0])
        for value in values:
            workers = project.cell(suite, value, 0.0425, settled(), workers=1, wall_s=60.0)
    project.save()
    return workers


class Clock:
    """`time.monotonic`, that goes on by hand."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def test_seconds_are_those_of_as_many_pairs_as_the_pass_has(suites, measured):
    further = passes.further(HERE, suites, Durations([]), math.inf)
    (key,) = (planned.key for planned in further.suites)
    (last,) = measured
    assert further.pairs["torch"] > len(last.pairs)
    seconds = pass_s(last, further.pairs["torch"])
    assert further.suites_s[key] == pytest.approx(SUITE_S + seconds)


def test_a_pass_fits_with_what_its_suites_take_beside_their_cells(suites, measured, clock):
    (takes_s,) = passes.further(HERE, suites, Durations([]), math.inf).suites_s.values()
    until = clock.now + takes_s + 0.01
    assert passes.further(HERE, suites, Durations([]), until).suites
    clock.now += 0.1  # less than SUITE_S
    assert not passes.further(HERE, suites, Durations([]), until).suites


def several(root, **workers):
    """Cells of SeqLen, each of one pass that was not steady or does not tell; identical ones."""
    project = Project(root)
    project.suite("Baseline", "value", ("A-torch", "B-torch"))
    for value in ("A-torch", "B-torch"):
        project.cell("Baseline", value, 0.0425, settled(), workers=1)
    project.suite("SeqLen", "value", ("128-torch", "512-torch", "1024-torch"), baseline=None)
    for value, changes in workers.items():
        name = f"{value.removeprefix('of_')}-torch"
        (worker,) = project.cell("SeqLen", name, 0.0425, settled(), workers=1)
        project.record("SeqLen", name, [worker.but(**changes)])
    project.save()


def taken(further):
    return {cell.name for planned in further.suites for cell in planned.cells}


def test_the_shortest_of_what_has_nothing_that_tells_goes_first(own_root, suites, clock):
    several(
        own_root,
        of_128={"steady": False, "wall_s": 90.0},
        of_512={"steady": False, "wall_s": 30.0},
        of_1024={"steady": False, "wall_s": 91.0},
    )
    within = (clock.now + seconds for seconds in (105.0, 140.0, 240.0))
    chosen = [taken(passes.further(HERE, suites, Durations([]), until)) for until in within]
    assert chosen[0] == {"512-torch"}
    assert chosen[1] == {"128-torch", "512-torch"}
    assert chosen[2] == {"128-torch", "512-torch", "1024-torch"}


def test_what_goes_first_is_planned_once(own_root, suites, clock):
    """It is open too: planned twice it would take the time of another cell."""
    several(own_root, of_128={"steady": False, "wall_s": 60.0}, of_1024={"wall_s": 60.0})
    whole = passes.further(HERE, suites, Durations([]), math.inf)
    assert taken(whole) == {"1024-torch", "128-torch"}
    until = clock.now + sum(whole.suites_s.values()) + 2 * SUITE_S
    assert taken(passes.further(HERE, suites, Durations([]), until)) == taken(whole)


def test_a_pass_that_is_said_measures_something_and_none_is_said_without_time(
    suites, measured, own_root, clock, monkeypatch
):
    """The seconds between planning a pass and its first suite are of the pass, too."""
    sweep = Sweep(Choice())
    sweep.session, sweep.estimate, sweep.asvs = HERE, Durations([]), {}
    sweep.progress = Progress(Console(record=True, file=io.StringIO()))
    sweep.checkpoint = SweepCheckpoint(own_root / "sweep.json", {}, HERE.id, number=2)
    (takes_s,) = passes.further(HERE, suites, Durations([]), math.inf).suites_s.values()
    sweep.until = clock.now + takes_s + 0.01
    ran = []

    def run(call):
        ran.append(call)
        clock.now = sweep.until

    def again(*words):
        Progress.again(sweep.progress, *words)
        clock.now += 0.1

    monkeypatch.setattr(sweep, "run", run)
    monkeypatch.setattr(sweep.progress, "again", again)
    sweep.take_open(suites)
    assert len(ran) == 1
    assert sweep.progress.console.export_text().count("pass ") == 1


def test_a_pass_that_was_stopped_is_gone_on_with_as_it_was_planned(
    suites, measured, own_root, monkeypatch
):
    """What it has measured meanwhile would make another plan, and asv does not have that yet."""

    def sweep(checkpoint):
        made = Sweep(Choice(passes=2))
        made.session, made.estimate, made.asvs = HERE, Durations([]), {}
        made.progress = Progress(Console(record=True, file=io.StringIO()))
        made.checkpoint, made.until = checkpoint, time.monotonic() + 10_000.0
        return made

    def stop(call):
        raise RunError("asv was killed")

    path = own_root / "sweep.json"
    stopped = sweep(SweepCheckpoint(path, {}, HERE.id, number=2))
    monkeypatch.setattr(stopped, "run", stop)
    with pytest.raises(RunError):
        stopped.take_open(suites)
    Project(own_root).record("SeqLen", "128-torch", [failure(settled(), "skipped", "why")])
    assert not passes.further(HERE, suites, Durations([]), math.inf).suites

    ran = []
    going_on = sweep(SweepCheckpoint.open(path, {}, fresh=False))
    monkeypatch.setattr(going_on, "run", ran.append)
    going_on.take_open(suites)
    ((planned,),) = (call.suites for call in ran)
    assert [cell.name for cell in planned.cells] == ["128-torch"]
    assert going_on.pairs == stopped.pairs
    assert (going_on.checkpoint.number, going_on.checkpoint.chosen) == (3, None)


def test_each_engine_has_the_pairs_that_its_own_noise_makes_worth_while(own_root, suites):
    """Starting a worker costs both as much; own C's are alike, torch's are not."""
    project = Project(own_root)
    apart = {"torch": (0.0375, 0.0425, 0.0475, 0.0435), "native": (0.042,) * 4}
    for engine, steps_s in apart.items():
        experiment = settled() if engine == "torch" else settled(engine=engine)
        for number, step_s in enumerate(steps_s):
            value = f"{number}-{engine}"
            project.suite(f"Suite{number}_{engine}", "value", (value,))
            project.cell(
                f"Suite{number}_{engine}", value, step_s, experiment, workers=1, wall_s=100.0
            )
    project.save()
    native = replace(
        suites[0],
        cells=tuple(replace(c, experiment=settled(engine="native")) for c in suites[0].cells),
    )
    pairs = passes.further(HERE, [*suites, native], Durations([]), math.inf).pairs
    assert pairs["torch"] == planning.FEWEST_PAIRS < pairs["native"]


def test_what_another_sweep_has_measured_since_is_not_taken_over(own_root):
    project = Project(own_root)
    project.suite("SeqLen", "seq_len", (128, 256))
    for value in (128, 256):
        project.cell("SeqLen", value, 0.02, workers=1)
    project.save()
    (own_root / ".asv").mkdir()
    for value in ("128", "256"):
        note(HERE, ("e", "r", str(own_root / "output" / "here" / "SeqLen" / value)))
    project.cell("SeqLen", 256, 0.02, workers=1, session="another")
    project.save()
    assert kept(HERE) == [("SeqLen", "128")]


def test_what_has_failed_once_is_taken_again_where_it_fits_and_never_a_third_time(
    own_root, suites, clock
):
    project = Project(own_root)
    project.suite("SeqLen", "value", ("64-torch", "128-torch", "256-torch"))
    timed_out = failure(settled(), "timed out", "after 300 s").but(wall_s=300.0)
    skipped = failure(settled(), "skipped", "no room")
    twice = [failure(settled(), "failed", "why", run=run) for run in ("1", "2")]
    project.record("SeqLen", "64-torch", [skipped])
    project.record("SeqLen", "128-torch", [timed_out])
    project.record("SeqLen", "256-torch", twice)
    (planned,) = passes.further(HERE, suites, Durations([]), math.inf).suites
    assert [cell.name for cell in planned.cells] == ["128-torch"]
    assert not passes.further(HERE, suites, Durations([]), clock.now + 300.0).suites
    assert passes.further(HERE, suites, Durations([]), clock.now + 310.0).suites
    another = replace(HERE, id="another")
    assert not passes.further(another, suites, Durations([]), math.inf).suites
