"""What threads of the native engine wait for each other in its products; `native_/src/matmul.c`.

Tiles of a result are shared out evenly by their number (OpenMP's static schedule): one thread may
have a tile more, or larger ones, and the others wait for it. What fills up the kernel's registers
is computed too. Sizes are those with AVX-512, as memory is counted. Standard library only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from cputrain.model.native import PACKED, PANEL

ROWS = 8
"""Rows that the innermost product has at a time (kernel.h: KERNEL_ROWS)."""
TILE_ROWS, TILE_COLUMNS = 8 * ROWS, 4 * PANEL
"""Of the result, what a thread computes in a turn (matmul.c)."""


def uneven(m: int, n: int, k: int, threads: int) -> float:
    """Time of a product [m, k] by [k, n] over what it were if all threads had as much to do.

    Columns go by chunks of as many panels as PACKED numbers hold, one at least; in each of them
    the tiles are shared out, row after row. The gradient by the input of a head with a vocabulary
    of 32 000 (k) has one panel in a chunk, and so one tile for every 64 tokens (m).
    """
    width = max(1, PACKED // PANEL // k) * PANEL
    chunks, rest = divmod(n, width)
    time = chunks * _chunk(m, width, threads) + _chunk(m, rest, threads)
    return time * threads / (m * n)


def _chunk(m: int, columns: int, threads: int) -> int:
    """Numbers of the result that the thread with most has in these columns, filled up."""
    across = -(-columns // TILE_COLUMNS)

    def rows(tiles: int) -> int:
        return _up(min(tiles * TILE_ROWS, m), ROWS)

    def wide(tiles: int) -> int:
        return _up(min(tiles * TILE_COLUMNS, columns), PANEL)

    def first(turns: int) -> int:
        whole, rest = divmod(turns, across)
        return rows(whole) * wide(across) + (rows(whole + 1) - rows(whole)) * wide(rest)

    return most(first, -(-m // TILE_ROWS) * across, threads) if columns else 0


def most(first: Callable[[int], int], turns: int, threads: int) -> int:
    """What the thread with most has to do: turns in a row each, the first threads one more.

    Args:
        first: what so many turns are together, from the first on.
        turns: all of them.
        threads: that share them out.
    """
    each, more = divmod(turns, threads)
    ends = [first(thread * each + min(thread, more)) for thread in range(threads + 1)]
    return max(end - start for start, end in itertools.pairwise(ends))


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
