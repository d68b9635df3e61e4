"""The pages of mapped files that a process has touched, so that a forked one counts them too.

A fork copies no entries for the pages of libraries and other mapped files: the kernel would map
them on the first access. The child's peak of resident memory would then lack what it does not use
of its parent's imports, some 60 MB of torch, while a fresh interpreter's has it.
Linux's Documentation/admin-guide/mm/pagemap.rst has the format.
"""

from __future__ import annotations

import ctypes
import mmap
from array import array
from collections.abc import Iterator
from pathlib import Path

PRESENT = 1 << 63
ENTRY_BYTES = 8


def file_pages() -> list[range]:
    """Addresses of the readable pages of mapped files that this process has in memory."""
    runs: list[range] = []
    with Path("/proc/self/pagemap").open("rb", buffering=0) as pagemap:
        for start, end in _mapped_files():
            pagemap.seek(start // mmap.PAGESIZE * ENTRY_BYTES)
            count = (end - start) // mmap.PAGESIZE
            entries = array("Q", pagemap.read(count * ENTRY_BYTES))
            for number, entry in enumerate(entries):
                if not entry & PRESENT:
                    continue
                address = start + number * mmap.PAGESIZE
                if runs and runs[-1].stop == address:
                    runs[-1] = range(runs[-1].start, address + mmap.PAGESIZE, mmap.PAGESIZE)
                else:
                    runs.append(range(address, address + mmap.PAGESIZE, mmap.PAGESIZE))
    return runs


def _mapped_files() -> Iterator[tuple[int, int]]:
    """First address and end of each readable mapping of a file."""
    with Path("/proc/self/maps").open(encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            addresses, access, _, _, inode, *_ = line.split(maxsplit=5)
            if access.startswith("r") and inode != "0":
                start, end = addresses.split("-")
                yield int(start, 16), int(end, 16)


def touch(runs: list[range]) -> None:
    """Read a byte of each page, all of which have to be mapped."""
    for run in runs:
        for address in run:
            ctypes.c_char.from_address(address).value  # noqa: B018
