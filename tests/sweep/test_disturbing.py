"""What disturbs a measurement, said before it."""

import os
import subprocess
import sys
import time

import pytest

from cputrain.sweep import disturbing

pytestmark = pytest.mark.tools

SUPPLY = "/sys/class/power_supply"


def others() -> str:
    return next((line for line in disturbing.lines() if line.startswith("others use")), "")


def test_a_process_that_uses_a_cpu_is_named_while_it_does():
    rival = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    named = f"(process {rival.pid})"
    try:
        end, line = time.monotonic() + 60, ""
        while named not in line and time.monotonic() < end:
            line = others()
    finally:
        rival.kill()
        rival.wait()
    assert named in line and "end them, or measure later" in line and "\n" not in line
    assert named not in others()


def test_of_many_the_busiest_are_named(tree, monkeypatch):
    idle, used = [{n: ("cc1", at * n / 2) for n in range(7)} for at in (0.0, 1.0)]
    readings = iter([idle, used])
    monkeypatch.setattr(disturbing.busy, "processes", lambda root: next(readings))
    (line,) = disturbing.lines(tree.root, 0.5)
    assert ": cc1 (process 6), cc1 (process 5), cc1 (process 4), 3 more; while" in line


def test_a_quota_is_told_with_what_to_do(server, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    (line,) = disturbing.lines(server.root, 0.0)
    assert line.startswith("cgroup quota: the time of 1.5 CPUs on 4 CPUs; threads are held back")
    assert "do not count: start under taskset -c " in line and "\n" not in line
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert disturbing.lines(server.root, 0.0) == []


def test_a_laptop_on_its_battery_is_told_until_it_is_plugged_in(tree):
    tree.put({f"{SUPPLY}/AC/type": "Mains", f"{SUPPLY}/AC/online": "0"})
    tree.put({f"{SUPPLY}/BAT0/type": "Battery", f"{SUPPLY}/BAT0/status": "Discharging"})
    (line,) = disturbing.lines(tree.root, 0.0)
    assert "on its battery" in line and "plug it in" in line
    tree.put({f"{SUPPLY}/AC/online": "1"})
    assert disturbing.lines(tree.root, 0.0) == []
