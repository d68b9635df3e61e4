"""Code in this process's own memory: read while it is there, left out where it was freed."""

import mmap

import pytest

from cputrain.machine import jitted
from cputrain.machine.reading import Unknown

ADD = b"\x62\xf1\x7c\x48\x58\xc1"  # vaddps %zmm1,%zmm0,%zmm0
ALL = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
FREED = (0x1000, 0x2000, "xla")
"""Below what Linux gives to processes (vm.mmap_min_addr)."""


@pytest.fixture
def written():
    """A page of code, with leave to write there, as oneDNN has them."""
    with mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, ALL) as page:
        page.write(ADD)
        yield page


def test_code_is_found(written):
    assert any(writer == "onednn" and ADD in code for writer, code in jitted.mappings())


def test_code_that_was_freed_meanwhile_is_left_out(written, monkeypatch):
    now = jitted.executable()
    listings = iter([[FREED, *now], now])
    monkeypatch.setattr(jitted, "executable", lambda root: next(listings))
    assert len(jitted.mappings()) == len(now)


def test_code_that_is_there_and_cannot_be_read_is_said(monkeypatch):
    monkeypatch.setattr(jitted, "executable", lambda root: [FREED])
    with pytest.raises(Unknown, match="/proc/self/mem: Input/output error"):
        jitted.mappings()


def test_no_such_folder(tmp_path):
    with pytest.raises(Unknown, match="/proc/self/mem"):
        jitted.mappings(tmp_path)
