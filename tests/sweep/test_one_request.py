"""A process that serves one request: what it reads, and what is told of its end."""

import sys

import pytest

from cputrain.record.process import Turn
from cputrain.sweep.one_request import RequestProcess

TURN = Turn(round=1, place=2, seed=3)
MODULE = """
import os, sys
from cputrain.record.process import Turn
from cputrain.run import one_request
turn = one_request.read(Turn)
print("on standard output")
print(f"first\\nplace {turn.place} in {os.environ['CPUTRAIN_STACK']}", file=sys.stderr)
sys.exit(turn.seed)
"""


@pytest.fixture
def served(tmp_path):
    """Serve a turn by a module with this source; how its process ended."""

    def serve(source):
        (tmp_path / "python").write_text(f"#!/bin/sh\nexec {sys.executable} {tmp_path}/module\n")
        (tmp_path / "python").chmod(0o755)
        (tmp_path / "module").write_text(source)
        return RequestProcess(tmp_path / "python", "module", {}, "trial").serve(TURN)

    return serve


def test_a_process_has_its_request_and_environment(served):
    end = served(MODULE)
    assert (end.status, end.last_line) == (3, "place 2 in trial")
    assert str(end) == "status 3: place 2 in trial"


def test_a_silent_death_is_told_too(served):
    assert str(served("import os; os.kill(os.getpid(), 11)")) == "status -11: no output"


def test_a_process_that_ends_before_its_request_is_told_of_its_end(tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\nexec <&-\necho gone >&2; echo on; exit 4\n")
    (tmp_path / "python").chmod(0o755)
    process = RequestProcess(tmp_path / "python", "module", {}, "trial", tells=True)
    assert process._process.stdout.readline() == b"on\n"  # it reads nothing any more
    assert list(process.lines(TURN)) == []
    assert str(process.end()) == "status 4: gone"
