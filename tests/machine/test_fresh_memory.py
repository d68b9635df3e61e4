"""A page of fresh memory is measured by blocks whose pages really fault."""

import resource
from pathlib import Path

import pytest

from cputrain.machine import fresh_memory
from cputrain.machine.fresh_memory import BYTES, PAGE, TRIES

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def faults(is_huge):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    seconds = fresh_memory.page_s(is_huge)
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_each_block_is_fresh_and_its_pages_cost_more_than_their_writing():
    seconds, counted = faults(is_huge=False)
    least = (1 + TRIES) * BYTES / (2 << 20)  # where all memory is of huge pages
    assert counted >= least and 0 < seconds < 1e-3


def test_huge_pages_are_asked_for_as_the_allocator_does():
    setting = huge_pages()
    if setting != "madvise":
        pytest.skip(f"transparent huge pages: {setting}; asking changes nothing")
    _, counted = faults(is_huge=True)
    assert counted < (1 + TRIES) * BYTES / PAGE / 10


def huge_pages():
    try:
        return SETTING.read_text().partition("[")[2].partition("]")[0]
    except OSError:
        return "not there"
