"""Parts of machines: which CPUs, and how much of their time, may be used."""

import os
import subprocess
import sys

import pytest

from cputrain import paths
from cputrain.machine import allotted, identity

ONLINE = "/sys/devices/system/cpu/online"
STATUS = "/proc/self/status"
GROUP = "/sys/fs/cgroup/job/cpu.max"


@pytest.mark.parametrize(
    ("allowed", "quota", "suffix", "line"),
    [
        ("0-7", "max 100000", "", None),
        ("0-7", "800000 100000", "", None),
        ("3", "max 100000", "-1cpu", "1 of 8 CPUs may be used here"),
        ("0,2,4,6", "max 100000", "-4cpus", "4 of 8 CPUs may be used here"),
        ("0-15", "max 100000", "", None),  # those that are not online are none
        (
            "0-7",
            "150000 100000",
            "-quota1.5",
            "the time of 1.5 CPUs (a cgroup's quota) may be used here",
        ),
        (
            "0-3",
            "150000 100000",
            "-4cpus-quota1.5",
            "4 of 8 CPUs and the time of 1.5 CPUs (a cgroup's quota) may be used here",
        ),
        ("0-1", "200000 100000", "-2cpus", "2 of 8 CPUs may be used here"),
    ],
)
def test_what_is_kept_back_is_in_the_name(tree, allowed, quota, suffix, line):
    tree.put({ONLINE: "0-7", STATUS: f"Name:\tpython\nCpus_allowed_list:\t{allowed}\n"})
    tree.put({"/proc/self/cgroup": "0::/job", GROUP: quota})
    assert (allotted.suffix(tree.root), allotted.line(tree.root)) == (suffix, line)


def test_a_quota_of_thousands_is_a_name_too(tree):
    tree.put({ONLINE: "0-4095", STATUS: "Cpus_allowed_list: 0-4095"})
    tree.put({"/proc/self/cgroup": "0::/job", GROUP: "150050000 100000"})
    assert allotted.suffix(tree.root) == "-quota1500.5"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("amd-epyc-2c-7e97", ""),
        ("amd-epyc-2c-7e97-1cpu", "1 CPU of them used"),
        ("amd-epyc-64c-7e97-8cpus", "8 CPUs of them used"),
        ("amd-epyc-64c-7e97-quota1.5", "the time of 1.5 CPUs of them used"),
        ("amd-64c-7e97-4cpus-quota1.5", "4 CPUs and the time of 1.5 CPUs of them used"),
    ],
)
def test_the_name_says_it_to_people(name, words):
    assert allotted.in_words(name) == words


@pytest.mark.parametrize("files", [{}, {ONLINE: "0-7"}, {ONLINE: "0-7", STATUS: "Name: x"}])
def test_where_the_kernel_does_not_say_nothing_is_in_the_name(tree, files):
    tree.put(files)
    assert (allotted.suffix(tree.root), allotted.line(tree.root)) == ("", None)


def test_a_mask_is_seen_here():
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("one CPU may be used here")
    name = "from cputrain.machine import identity; print(identity.machine_name())"
    masked = subprocess.run(
        [sys.executable, "-c", name],
        cwd=paths.PROJECT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {min(cpus)}),
    ).stdout.strip()
    assert masked.endswith("-1cpu") or "-1cpu-quota" in masked
    whole = identity.machine_name().removesuffix(allotted.suffix())
    assert masked.startswith(f"{whole}-1cpu")
