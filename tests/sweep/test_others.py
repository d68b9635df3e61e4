"""Who else uses the CPUs, said before a measurement."""

import subprocess
import sys
import time

import pytest

from cputrain.sweep import others

pytestmark = pytest.mark.tools


def test_a_process_that_uses_a_cpu_is_named_while_it_does():
    rival = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    named = f"(process {rival.pid})"
    try:
        end, line = time.monotonic() + 60, ""
        while named not in line and time.monotonic() < end:
            line = others.line()
    finally:
        rival.kill()
        rival.wait()
    assert named in line and "end them, or measure later" in line and "\n" not in line
    assert named not in others.line()


def test_of_many_the_busiest_are_named(monkeypatch):
    idle, used = [{n: ("cc1", at * n / 2) for n in range(7)} for at in (0.0, 1.0)]
    readings = iter([idle, used])
    monkeypatch.setattr(others.busy, "processes", lambda: next(readings))
    line = others.line(0.5)
    assert ": cc1 (process 6), cc1 (process 5), cc1 (process 4), 3 more; while" in line
