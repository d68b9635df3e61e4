"""What threads of the native engine wait for each other in its products; `native_/src/matmul.c`.

Tiles of a result are shared out evenly by their number (OpenMP's static schedule): one thread may
have a tile more, or larger ones, and the others wait for it. What fills up the kernel's registers
is computed too. Sizes are those with AVX-512, as memory is counted. Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    down = [_up(rows, ROWS) for rows in _cut(m, TILE_ROWS)]
    across = [_up(wide, PANEL) for wide in _cut(columns, TILE_COLUMNS)]
    return most([rows * wide for rows in down for wide in across], threads)


def most(turns: Sequence[int], threads: int) -> int:
    """What the thread with most has to do: turns in a row each, the first threads one more."""
    each, more = divmod(len(turns), threads)
    starts = [thread * each + min(thread, more) for thread in range(threads + 1)]
    return max(sum(turns[starts[i] : starts[i + 1]]) for i in range(threads))


def _cut(size: int, step: int) -> list[int]:
    return [min(step, size - start) for start in range(0, size, step)]


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
