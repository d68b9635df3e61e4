"""What threads of own C wait for each other in a product, by hand. Standard library only."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cputrain.model import native_waits
from cputrain.paths import PROJECT

pytestmark = pytest.mark.tools

SOURCES = PROJECT / "cputrain" / "engines" / "native_" / "src"


@pytest.mark.parametrize(
    ("sizes", "times"),
    [
        ((256, 256, 256), 1.0),
        ((64, 768, 32_000), 2.0),  # a chunk is a panel: one tile, which is one thread's
        ((128, 768, 32_000), 1.0),  # two tiles
        ((64, 320, 8000), 2.0),  # 4 panels in a chunk: one tile again
        ((64, 320, 4000), 1.2),  # chunks of 8 and of 2: 256 columns by two, 64 by one
        ((192, 64, 128), 4 / 3),  # three tiles
        ((256, 257, 256), 288 / 257),  # the last column is filled up to 32
        ((4, 128, 64), 4.0),  # 8 rows of one tile
    ],
)
def test_the_thread_with_most_is_waited_for(sizes, times):
    assert native_waits.uneven(*sizes, threads=2) == pytest.approx(times)


def test_turns_are_shared_out_in_a_row():
    def most(*turns):
        return native_waits.most(lambda count: sum(turns[:count]), len(turns), threads=2)

    assert most(1, 2, 3, 4, 5) == 4 + 5
    assert most(5, 1, 1) == 5 + 1
    assert most(7) == 7
    assert most() == 0


@given(*(st.integers(1, most) for most in (700, 700, 20_000, 9)))
def test_tiles_that_are_counted_in_rows_are_those_one_by_one(m, n, k, threads):
    wide = max(1, native_waits.PACKED // 32 // k) * 32
    time = 0
    for start in range(0, n, wide):
        columns = min(wide, n - start)
        tiles = [
            -(-min(64, m - row) // 8) * 8 * (-(-min(128, columns - column) // 32) * 32)
            for row in range(0, m, 64)
            for column in range(0, columns, 128)
        ]
        each, more = divmod(len(tiles), threads)
        shares = [tiles[i * each + min(i, more) :][: each + (i < more)] for i in range(threads)]
        time += max(map(sum, shares))
    assert native_waits.uneven(m, n, k, threads) == time * threads / (m * n)


def test_a_product_of_any_size_is_told_at_once():
    assert native_waits.uneven(10**9, 10**6, 1, threads=2) == pytest.approx(1, rel=1e-3)


def test_tiles_are_those_of_the_sources():
    kernel, matmul = ((SOURCES / name).read_text() for name in ("kernel.h", "matmul.c"))
    widest = re.search(r"__AVX512F__\n#define LANES (\d+)\n#define KERNEL_ROWS (\d+)", kernel)
    assert [int(number) for number in widest.groups()] == [
        native_waits.PANEL // 2,
        native_waits.ROWS,
    ]
    assert "TILE_ROWS = 8 * KERNEL_ROWS" in matmul
    assert "TILE_COLUMNS = 4 * KERNEL_COLUMNS" in matmul
    assert "PACKED / KERNEL_COLUMNS / k" in matmul
    assert "schedule(runtime) collapse(2)" in matmul
