"""That glibc keeps memory once a large block has been freed, in processes of their own."""

import json
import subprocess
import sys

from cputrain.machine import malloc

PROGRAM = """
import ctypes, json, resource, sys
from cputrain.machine import malloc

library, MIB = malloc._library(), 1 << 20

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [library.malloc(MIB) for _ in range(8)]
    for block in blocks:
        ctypes.memset(block, 1, MIB)
    for block in blocks:
        library.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = [faults() for _ in range(4)]
malloc.raise_thresholds(int(sys.argv[1]))
print(json.dumps([before, [faults() for _ in range(4)]]))
"""
PAGES = 8 * (1 << 20) // 4096


def faults(size):
    """Of taking, writing and freeing 8 MiB, four times before a block of `size` and after it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(size)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_what_is_freed_after_a_large_block_is_kept():
    before, after = faults(16 << 20)
    assert min(before) >= PAGES / 2  # each time from the kernel
    assert max(after[1:]) < PAGES / 10


def test_a_block_that_glibc_learns_nothing_from_is_not_taken():
    _, after = faults(1 << 40)  # it would be mapped, and unmapped, and nothing else
    assert max(after[1:]) < PAGES / 10
    assert malloc.LARGEST_LEARNED < malloc.LARGE
