"""A worker in a control group of too little memory, which the kernel kills."""

import sys

import pytest
from made_groups import group
from settled import NO_MODEL, settled

from cputrain.run.failed import CellFailed
from cputrain.run.launch import Worker

LIMIT = str(200 * 2**20)
JOIN_AND_GROW = """
import os, sys
sys.stdin.readline()
with open({tasks!r}, "w") as file:
    file.write(str(os.getpid()))
held = []
while True:
    held.append(b"x" * 2**24)
"""


def test_it_is_out_of_memory_and_not_just_killed():
    limits = {1: {"memory.limit_in_bytes": LIMIT}, 2: {"memory.max": LIMIT}}
    with group("memory", limits) as tasks, pytest.raises(CellFailed) as caught:
        command = (sys.executable, "-c", JOIN_AND_GROW.format(tasks=str(tasks)))
        Worker(settled(deadline_s=120), NO_MODEL, command=command).ready()
    assert caught.value.status == "out of memory"
    assert "killed by the kernel" in caught.value.reason
