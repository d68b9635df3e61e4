"""The OpenMP runtime that torch calls, asked in this process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cputrain import paths
from cputrain.machine import openmp

torch = pytest.importorskip("torch")

NONE = """
from cputrain.machine import openmp
from cputrain.machine.reading import Unknown
for ask in (openmp.serving, openmp.team, openmp.proc_bind):
    try:
        print(ask())
    except Unknown as unknown:
        print(unknown)
"""


def test_torch_s_libgomp_serves_it():
    runtime = openmp.serving()
    path = Path(runtime.path)
    assert path.name.startswith("libgomp") and not runtime.is_kmp
    assert path.exists()


def test_torch_follows_it_and_gets_its_count_back():
    before = torch.get_num_threads()
    assert openmp.follows(openmp.serving(), torch.get_num_threads)
    assert torch.get_num_threads() == before
    assert not openmp.follows(openmp.serving(), lambda: before)
    assert torch.get_num_threads() == before


def test_the_team_is_torch_s_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        team = openmp.team()
    finally:
        torch.set_num_threads(before)
    assert [member.number for member in team] == [0, 1]
    assert all(set(member.cpus) == os.sched_getaffinity(0) for member in team)


def test_a_process_without_openmp_says_so():
    env = {"PYTHONPATH": str(paths.PROJECT)}
    done = subprocess.run([sys.executable, "-c", NONE], env=env, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == ["no OpenMP runtime is loaded"] * 3
