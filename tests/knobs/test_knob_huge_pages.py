"""Transparent huge pages: in force in real processes, and denied where they are not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from settled import NO_MODEL, settled

from cputrain import paths
from cputrain.knobs import huge_pages
from cputrain.knobs.inforce import Check, NotInForce, require
from cputrain.machine import pages, reading
from cputrain.run import launch

ENABLED = "sys/kernel/mm/transparent_hugepage/enabled"


def made(root, mode, huge_kb=None):
    """A machine in `mode` and a process with so many kilobytes in huge pages."""
    modes = " ".join(f"[{m}]" if m == mode else m for m in ("always", "madvise", "never"))
    files = {ENABLED: modes}
    if huge_kb is not None:
        rollup = f"5581-7ffd ---p 0 00:00 0 [rollup]\nRss: 9 kB\nAnonHugePages: {huge_kb} kB"
        files["proc/self/smaps_rollup"] = rollup
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{content}\n")
    return root


@pytest.mark.parametrize(
    ("mode", "setting", "says"),
    [
        ("madvise", "never", None),
        ("always", "never", None),
        ("never", "never", None),
        ("madvise", "madvise", None),
        ("never", "madvise", "'never': it gives none"),
        ("always", "madvise", "'always': it gives them unasked"),
        ("madvise", "always", None),
        ("never", "always", None),
        ("always", "always", None),
        ("never", "default", None),
    ],
)
def test_why_a_machine_cannot(tmp_path, mode, setting, says):
    said = huge_pages.reason(setting, made(tmp_path, mode))
    assert (said is None) == (says is None)
    assert says is None or (says in said and "\n" not in said)


def test_a_kernel_without_huge_pages(tmp_path):
    for setting in ("never", "madvise", "always"):
        assert "no transparent huge pages" in huge_pages.reason(setting, tmp_path)
    assert huge_pages.reason("default", tmp_path) is None


@pytest.mark.parametrize(("version", "says"), [((2, 34), "glibc 2.34"), (None, "not glibc")])
def test_a_c_library_that_cannot_ask(tmp_path, monkeypatch, version, says):
    monkeypatch.setattr(huge_pages, "glibc", lambda: version)
    assert says in huge_pages.reason("madvise", made(tmp_path, "madvise"))


def test_the_c_library_of_this_machine_is_the_one_that_the_kernel_maps():
    maps = Path("/proc/self/maps").read_text()
    assert (huge_pages.glibc() is not None) == ("/libc.so.6" in maps)


@pytest.mark.parametrize(
    ("setting", "mode", "huge_kb", "says"),
    [
        ("never", "always", 0, r"PR_GET_THP_DISABLE\): asked for 1, found 0"),
        ("always", "madvise", 4096, "mode: asked for always, found madvise"),
        ("always", "always", 0, "asked for > 0, found 0"),
        ("always", "always", None, "cannot be shown: /proc/self/smaps_rollup"),
    ],
)
def test_a_setting_not_in_force_is_found(tmp_path, setting, mode, huge_kb, says):
    with pytest.raises(NotInForce, match=says):
        require(huge_pages.in_force(setting, made(tmp_path, mode, huge_kb)))


def test_always_is_shown_by_mode_and_pages(tmp_path):
    require(huge_pages.in_force("always", made(tmp_path, "always", 4096)))
    assert huge_pages.in_force("default", tmp_path) == []


TELL = """
import json, os, sys
sys.stdin.readline()
sys.path.insert(0, os.environ["PYTHONPATH"])
import ctypes, mmap
from cputrain.knobs import huge_pages
kind, asked, descriptor = sys.argv[1:]
if kind == "malloc":
    kept = bytearray(64 << 20)
    kept[:] = b"x" * len(kept)
elif kind == "advised":  # as NumPy does for large arrays: glibc asks for nothing
    kept = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    kept.madvise(mmap.MADV_HUGEPAGE)
    kept[:] = b"x" * len(kept)
said = [c.to_json() for c in huge_pages.in_force(asked)]
os.write(int(descriptor), json.dumps({"checks": said}).encode() + b"\\n")
input()
"""


def told(mode, applied, kind="malloc", **changes):
    """The checks of `mode` in a real process that was started with `applied`."""
    command = (sys.executable, "-c", TELL, kind, mode)
    experiment = settled(huge_pages=applied, **changes)
    worker = launch.Worker(experiment, NO_MODEL, command=command)
    try:
        return [msgspec.convert(check, Check) for check in json.loads(worker.line())["checks"]]
    finally:
        worker.end()


def needs(setting):
    if (said := huge_pages.reason(setting)) is not None:
        pytest.skip(said)


def test_never_is_in_force_in_a_real_process_and_missed_where_it_is_not():
    needs("never")
    require(told("never", "never"))
    require(told("never", "never", kind="advised"))
    with pytest.raises(NotInForce, match="PR_GET_THP_DISABLE"):
        require(told("never", "default"))


def test_pages_that_are_huge_all_the_same_are_found():
    needs("madvise")
    checks = told("never", "madvise")
    (in_huge_pages,) = (check for check in checks if check.name == "bytes in huge pages")
    assert not in_huge_pages.ok and in_huge_pages.actual > 0


def test_madvise_is_in_force_in_a_real_process():
    needs("madvise")
    require(told("madvise", "madvise"))
    with pytest.raises(NotInForce, match="malloc asks for huge pages: asked for True, found False"):
        require(told("madvise", "default"))


def test_huge_pages_that_somebody_else_asked_for_are_no_proof():
    """NumPy asks for its large arrays by itself."""
    needs("madvise")
    asks, in_huge_pages = told("madvise", "default", kind="advised")
    assert not asks.ok and in_huge_pages.ok


def test_never_beats_what_the_allocator_asks_for():
    needs("never")
    _, in_huge_pages = told("madvise", "never")
    assert in_huge_pages.actual == 0 and not in_huge_pages.ok


def test_the_probe_leaves_nothing_behind():
    before = len(reading.text(reading.ROOT, "/proc/self/maps").splitlines())
    for _ in range(20):
        huge_pages.malloc_asks()
    after = len(reading.text(reading.ROOT, "/proc/self/maps").splitlines())
    assert after <= before + 2


def test_this_process_is_not_changed_by_a_child_s_setting():
    code = "from cputrain.knobs import huge_pages; print(huge_pages.disabled())"
    call = huge_pages.HugePages().before_exec(settled(huge_pages="never"))
    env = {**os.environ, "PYTHONPATH": str(paths.PROJECT)}
    before = huge_pages.disabled()
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, preexec_fn=call
    )
    assert child.stdout.strip() == "1"
    assert huge_pages.disabled() == before


def test_the_machine_s_own_mode_can_be_read_or_a_reason_is_given():
    try:
        assert pages.huge_page_mode() in ("always", "madvise", "never")
    except reading.Unknown as unknown:
        assert "transparent_hugepage" in str(unknown)
