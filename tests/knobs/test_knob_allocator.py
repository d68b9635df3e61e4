"""Allocators: in real processes, with checks that a lie does not pass."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from settled import settled

from cputrain import paths
from cputrain.engines import settings
from cputrain.knobs.allocator import PRELOADED, Allocator, tunables
from cputrain.machine import library_search, malloc
from cputrain.record.process import Placement

KNOB = Allocator()
PLACE = Placement((0,), 1, 1, 1)
CHECKS = """
import json, sys
from cputrain.experiment import Experiment
from cputrain.record.process import Placement
from cputrain.knobs.allocator import Allocator
checks = Allocator().checks(Experiment().but(allocator=sys.argv[1]), Placement((0,), 1, 1, 1), {})
print(json.dumps([check.to_json() for check in checks]))
"""


WHERE = (str(paths.PROJECT), str(Path(msgspec.__file__).parent.parent))
"""For other Pythons than this one too: ours, and the library that records are made with."""


def installed(allocator):
    try:
        return str(library_search.find(allocator))
    except library_search.Missing as missing:
        pytest.skip(str(missing))


def checks(allocator, python=sys.executable, **env):
    """The knob's checks in a process that was started with `env`."""
    done = subprocess.run(
        [python, "-c", CHECKS, allocator],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(WHERE), **env},
        cwd=paths.PROJECT,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def started(allocator, python=sys.executable):
    """The checks in a process started as the launcher does."""
    experiment = settled(allocator=allocator)
    env = KNOB.environment(experiment, PLACE)
    env["LD_PRELOAD"] = ":".join(KNOB.preload(experiment))
    env[library_search.VARIABLE] = library_search.settled()
    return checks(allocator, python, **env)


@pytest.mark.parametrize("allocator", PRELOADED)
def test_a_preloaded_allocator_is_in_force(allocator):
    path = installed(allocator)
    (check,) = started(allocator)
    assert check["ok"] and check["found"] == os.path.realpath(path)


@pytest.mark.parametrize("allocator", ["glibc", "glibc_thresholds"])
def test_glibc_is_in_force(allocator):
    assert all(check["ok"] for check in started(allocator))


PROGRAM = Path("/usr/bin/python3")


@pytest.mark.skipif(not PROGRAM.exists(), reason="no Python of the system here")
@pytest.mark.parametrize("allocator", ["glibc", "glibc_thresholds", "jemalloc"])
def test_a_python_that_is_not_position_independent_is_seen_through(allocator):
    """Debian's has entries of its own for malloc and free, which lead to the library."""
    version = subprocess.run([PROGRAM, "-V"], capture_output=True, text=True).stdout.split(".")
    if int(version[1]) != sys.version_info.minor:
        pytest.skip("msgspec is compiled for this Python, and the system's is another version")
    if allocator == "jemalloc":
        installed(allocator)
    assert all(check["ok"] for check in started(allocator, str(PROGRAM)))


@pytest.mark.parametrize("allocator", PRELOADED)
def test_a_preload_that_does_not_exist_is_caught(allocator):
    """The loader says a line about it and goes on with glibc."""
    path = installed(allocator)
    env = {"LD_PRELOAD": "/nowhere/lib.so", library_search.VARIABLE: f"{allocator}={path}"}
    (check,) = checks(allocator, **env)
    assert not check["ok"] and "libc" in check["found"]


def test_another_allocator_than_the_asked_one_is_caught():
    jemalloc, mimalloc = installed("jemalloc"), installed("mimalloc")
    env = {library_search.VARIABLE: f"jemalloc={jemalloc}:mimalloc={mimalloc}"}
    (check,) = checks("jemalloc", LD_PRELOAD=mimalloc, **env)
    assert not check["ok"] and check["found"] == os.path.realpath(mimalloc)
    (check,) = checks("jemalloc", LD_PRELOAD=f"{mimalloc}:{jemalloc}", **env)
    assert not check["ok"], "both are mapped, and the first one serves"


def test_glibc_with_another_allocator_in_front_is_caught():
    path = installed("jemalloc")
    (check,) = checks("glibc", LD_PRELOAD=path)
    assert not check["ok"] and check["found"] == os.path.realpath(path)


def test_glibc_under_another_name_is_caught():
    (glibc,) = malloc.providers()
    if not malloc.is_glibc(glibc):
        pytest.skip("this process has another allocator")
    (check,) = checks("jemalloc", **{library_search.VARIABLE: f"jemalloc={glibc}"})
    assert not check["ok"]


THRESHOLDS = KNOB.environment(settled(allocator="glibc_thresholds"), PLACE)


@pytest.mark.parametrize("value", ["", "glibc.malloc.mmap_threshold=33554432"])
def test_thresholds_that_were_not_set_are_caught(value):
    """32 MiB is the most that mallopt takes, and does not keep a larger block."""
    glibc, said, kept = checks("glibc_thresholds", GLIBC_TUNABLES=value)
    assert glibc["ok"] and not said["ok"] and not kept["ok"]
    assert kept["found"] >= 16


def test_thresholds_of_which_one_is_left_out_are_caught():
    _, said, _ = checks("glibc_thresholds", GLIBC_TUNABLES="glibc.malloc.mmap_max=0")
    assert not said["ok"]


def test_thresholds_that_are_set_and_have_no_effect_are_caught():
    """They are glibc's, and another allocator serves that gives large blocks back."""
    heap_checks = checks("glibc_thresholds", LD_PRELOAD=installed("jemalloc"), **THRESHOLDS)
    assert [check["ok"] for check in heap_checks] == [False, True, False]


def test_tunables_joined_with_others_are_found(tmp_path):
    """As glibc leaves them in that memory, and as it was handed them."""
    joined = settings.environment(
        settled(allocator="glibc_thresholds", huge_pages="madvise"), PLACE
    )["GLIBC_TUNABLES"]
    assert "hugetlb" in joined and THRESHOLDS["GLIBC_TUNABLES"] in joined
    environ = tmp_path / "environ"
    for value in (joined, joined.replace(":", "\0")):
        environ.write_text(f"A=1\0GLIBC_TUNABLES={value}\0B=2\0")
        assert tunables(environ).ok
    environ.write_text(f"A=1\0GLIBC_TUNABLES=glibc.malloc.mmap_max=0\0B={joined}\0")
    assert not tunables(environ).ok
    environ.write_text("A=1\0")
    assert not tunables(environ).ok and tunables(environ).actual == "not set"


def test_what_is_not_installed_is_a_reason_and_what_asv_brings_is_none(monkeypatch):
    def missing(name, root=None):
        raise library_search.Missing(f"{name} is not installed: apt install it")

    monkeypatch.setattr(library_search, "find", missing)
    monkeypatch.setattr(library_search, "in_stack", lambda: True)
    for allocator in PRELOADED:
        reason = KNOB.why_not(settled(allocator=allocator))
        assert reason == f"{allocator} is not installed: apt install it"
    assert KNOB.why_not(settled()) is None
    assert KNOB.why_not(settled(allocator="glibc_thresholds")) is None
    monkeypatch.setattr(library_search, "in_stack", lambda: False)
    assert KNOB.why_not(settled(allocator="mimalloc")) is None


def test_another_c_library_has_no_thresholds(monkeypatch):
    monkeypatch.setattr(os, "confstr", lambda _: None)
    assert "not glibc" in KNOB.why_not(settled(allocator="glibc_thresholds"))


def test_the_default_sets_nothing():
    assert KNOB.environment(settled(), PLACE) == {}
    assert KNOB.preload(settled()) == ()
