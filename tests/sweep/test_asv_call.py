"""What a sweep makes of the lines that its cells write, also where the disk takes half of one."""

import io
import resource
from contextlib import contextmanager

import pytest
from found_suites import ALL
from rich.console import Console

from cputrain.experiment import Experiment
from cputrain.run import recording
from cputrain.run.session import Session
from cputrain.sweep.asv_call import Events
from cputrain.sweep.progress import Progress

pytestmark = pytest.mark.tools

(SEQ_LEN,) = (planned for planned in ALL if planned.name == "SeqLen")
FIRST, SECOND, THIRD, *_ = SEQ_LEN.cells


@pytest.fixture
def session(own_root):
    path = own_root / "events.jsonl"
    path.write_text("")
    return Session(id="s", run="r", machine="here", events=path)


@pytest.fixture
def progress():
    progress = Progress(Console(record=True, file=io.StringIO(), width=200, soft_wrap=True))
    progress.call([SEQ_LEN])
    return progress


def write(session, cell):
    """What a cell of a worker that failed writes."""
    record = recording.opened(session, Experiment()).but(status="failed", reason="so it is")
    recording.announce(session, SEQ_LEN.suite.key(*cell.values), record, 0.0)


@contextmanager
def room(session, size):
    """So many more bytes can be written to the file of events, as on a disk that is then full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (session.events.stat().st_size + size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def shown(progress):
    return progress.console.export_text()


def test_a_line_that_is_half_written_waits_for_its_end(session, progress):
    write(session, FIRST)
    whole = session.events.read_bytes()
    with session.events.open("rb") as file:
        events = Events(file, progress)
        session.events.write_bytes(whole[:50])
        events.follow()
        assert progress.failed == 0
        session.events.write_bytes(whole)
        events.follow()
        assert progress.failed == 1
        events.end()
    assert f"{FIRST.name}  failed: so it is" in shown(progress) and progress.failed == 1


def test_a_full_disk_breaks_a_line_and_not_the_sweep(session, progress):
    write(session, FIRST)
    with room(session, 50), pytest.raises(OSError):
        write(session, SECOND)
    assert session.events.stat().st_size > 50 and session.events.read_bytes()[-1:] != b"\n"
    write(session, SECOND)  # there is room again, and its line is behind the half one
    write(session, THIRD)
    with room(session, 50), pytest.raises(OSError):
        write(session, FIRST)
    with session.events.open("rb") as file:
        events = Events(file, progress)
        events.follow()
        events.end()
    out = shown(progress)
    assert f"{FIRST.name}  failed: so it is" in out and f"{THIRD.name}  failed: so it is" in out
    assert out.count(f"a line of {session.events} broke off") == 2
    assert progress.failed == 2
