"""Pages of a process, as the kernel shows them: made files, and this process itself."""

import ctypes
import mmap

import pytest

from cputrain.machine import pages, reading

NUMA_MAPS = """55e000 interleave:0-1 file=/usr/bin/python3.11 mapped=700 mapmax=3 N0=700
55e100 interleave:0-1 file=/usr/bin/python3.11 anon=2 dirty=2 N0=1 N1=1 kernelpagesize_kB=4
55e200 interleave:0-1 heap anon=300 dirty=300 active=0 N0=160 N1=140 kernelpagesize_kB=4
7fa000 default anon=512 dirty=512 N10=512 kernelpagesize_kB=4
7fb000 prefer (many):0 huge anon=2 dirty=2 N0=2 kernelpagesize_kB=2048
7fc000 weighted interleave:0-1 anon=4 dirty=4 N1=4 kernelpagesize_kB=64
7fd000 bind=static:1 stack:12
7fe000 interleave:0-1
"""


def test_anonymous_pages_by_policy_and_node(tree):
    tree.put({"/proc/self/numa_maps": NUMA_MAPS})
    maps = pages.numa_maps(tree.root)
    assert maps.policies == {
        "interleave:0-1": 300 * 4096,
        "default": 512 * 4096,
        "prefer (many):0": 4 << 20,
        "weighted interleave:0-1": 4 * 65536,
    }
    assert maps.nodes == {
        0: 160 * 4096 + (4 << 20),
        1: 140 * 4096 + 4 * 65536,
        10: 512 * 4096,
    }
    assert pages.process_policy(tree.root) == "interleave:0-1"


@pytest.mark.parametrize(
    ("written", "policy"),
    [
        ("default", pages.Policy("default")),
        ("bind:0", pages.Policy("bind", (0,))),
        ("bind=static:0,2-3", pages.Policy("bind", (0, 2, 3))),
        ("interleave=static|balancing:0-1", pages.Policy("interleave", (0, 1))),
        ("prefer (many):1", pages.Policy("prefer (many)", (1,))),
    ],
)
def test_a_policy_in_parts(written, policy):
    assert pages.parse_policy(written) == policy


def test_what_is_no_policy_is_a_reason():
    with pytest.raises(reading.Unknown, match="bind:x"):
        pages.parse_policy("bind:x")


def test_a_machine_that_shows_nothing_gives_reasons(bare):
    for read, where in (
        (pages.numa_maps, "numa_maps"),
        (pages.process_policy, "numa_maps"),
        (pages.anon_huge_bytes, "smaps_rollup"),
        (pages.huge_page_mode, "transparent_hugepage"),
        (lambda root: pages.asks_for_huge_pages(0, root), "smaps"),
    ):
        with pytest.raises(reading.Unknown, match=where):
            read(bare.root)
    bare.put({"/proc/self/numa_maps": "", "/proc/self/smaps_rollup": "Rss: 1 kB"})
    with pytest.raises(reading.Unknown, match="empty"):
        pages.numa_maps(bare.root)
    with pytest.raises(reading.Unknown, match="no AnonHugePages"):
        pages.anon_huge_bytes(bare.root)


@pytest.mark.parametrize(
    ("modes", "mode"),
    [("[always] madvise never", "always"), ("always madvise [never]", "never")],
)
def test_the_mode_is_the_word_in_brackets(tree, modes, mode):
    tree.put({"/sys/kernel/mm/transparent_hugepage/enabled": modes})
    assert pages.huge_page_mode(tree.root) == mode


def test_a_mode_without_brackets_is_a_reason(tree):
    tree.put({"/sys/kernel/mm/transparent_hugepage/enabled": "always"})
    with pytest.raises(reading.Unknown, match="brackets"):
        pages.huge_page_mode(tree.root)


SMAPS = """7f0000000000-7f0000200000 rw-p 00000000 00:00 0
Size:               2048 kB
VmFlags: rd wr mr mw me ac sd hg
7f0000200000-7f0000400000 rw-p 00000000 00:00 0
VmFlags: rd wr mr mw me ac sd nh
7f0000400000-7f0000600000 rw-p 00000000 00:00 0
"""


def test_the_flags_of_the_mapping_around_an_address(tree):
    tree.put({"/proc/self/smaps": SMAPS})
    assert pages.asks_for_huge_pages(0x7F0000000000, tree.root)
    assert pages.asks_for_huge_pages(0x7F00001FFFFF, tree.root)
    assert not pages.asks_for_huge_pages(0x7F0000200000, tree.root)
    for address in (0x7F0000500000, 0x1000):
        with pytest.raises(reading.Unknown, match="no flags"):
            pages.asks_for_huge_pages(address, tree.root)


def test_this_process_shows_what_it_asked_for_and_where_its_pages_are():
    try:
        pages.huge_page_mode()
        before = pages.anon_huge_bytes()
        maps = pages.numa_maps()
    except reading.Unknown as unknown:
        pytest.skip(str(unknown))
    assert before >= 0 and sum(maps.nodes.values()) > 1 << 20
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    with mmap.mmap(-1, 8 << 20, flags=flags) as block:
        place = ctypes.c_char.from_buffer(block)
        address = ctypes.addressof(place) + (4 << 20)
        asked_before = pages.asks_for_huge_pages(address)
        block.madvise(mmap.MADV_HUGEPAGE)
        assert pages.asks_for_huge_pages(address) and not asked_before
        del place
