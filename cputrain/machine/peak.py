"""The most that this machine's CPUs were seen to compute: matrix products by type of number."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from cputrain.machine.fastest import fastest_s

SIZES = (256, 512, 768, 1024, 1536, 2048, 3072, 4096)
"""Rows of the square matrices: the best size differs from machine to machine."""

FEWEST = 4
"""Readings of a size at least, by two libraries in turns; the first of each is cold."""

ONEDNN = "_linear_pointwise"
"""torch's only way to oneDNN with plain fp32 tensors, private to it; see engines.torch_.onednn."""

FIELD = "fp32_matmul_flops"
FIELDS = {"fp32": FIELD, "bf16": "bf16_matmul_flops", "int8": "int8_matmul_flops"}
"""Type of number -> the field of machine.json that has its rates by number of threads.

int8 products are added up in int32 (`torch._int_mm`); a multiply-add counts as two in all.
"""


def best_rate(
    product: Callable[[int], Callable[[], object]],
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The best of many readings over all of `SIZES`, FLOP/s; one product is 2 n^3 FLOP.

    Many, because one short burst reads up to 25 % low.

    Args:
        product: gives, for a size n, what multiplies two n x n matrices once.
        seconds: shared out among the sizes. The first one is read all the same, however slow;
            the search ends at a size of which the readings would not fit any more.
        clock: seconds.
    """
    best, expected, end = 0.0, 0.0, clock() + seconds
    for i, n in enumerate(SIZES):
        left = end - clock()
        if FEWEST * expected > left:
            break
        slot_end = clock() + left / (len(SIZES) - i)
        fastest = fastest_s(product(n), FEWEST, slot_end, clock)
        best = max(best, 2 * n**3 / fastest)
        expected = fastest * (SIZES[min(i + 1, len(SIZES) - 1)] / n) ** 3
    return best


def products(kind: str) -> Callable[[int], Callable[[], object]]:
    """What gives, for a size n, a product of two n x n matrices of `kind`, a key of FIELDS."""
    import torch

    def tiled(part: torch.Tensor, n: int) -> torch.Tensor:
        """`part` over and over: drawing all of a large matrix takes longer than its product."""
        return part.repeat(n // len(part), n // len(part))

    def fp32(n: int) -> Callable[[], object]:
        side = min(n, SIZES[0])
        a, b = (tiled(torch.rand(side, side), n) for _ in range(2))
        out = torch.empty(n, n)
        ways: list[Callable[[], object]] = [lambda: torch.mm(a, b, out=out)]
        # torch.mm is MKL's on x86, which uses no AVX-512 on AMD's CPUs; oneDNN does.
        if torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, ONEDNN):
            by_onednn, weight = getattr(torch.ops.mkldnn, ONEDNN), b.t().contiguous()
            ways.append(lambda: by_onednn(a, weight, None, "none", [], ""))
        turn = itertools.cycle(ways)
        return lambda: next(turn)()

    def bf16(n: int) -> Callable[[], object]:
        side = min(n, SIZES[0])
        a, b = (tiled(torch.rand(side, side).bfloat16(), n) for _ in range(2))
        out = torch.empty(n, n, dtype=torch.bfloat16)
        # Without bf16 instructions torch's own loops are ten times faster on a transposed factor.
        turn = itertools.cycle((a, a.t()))
        return lambda: torch.mm(next(turn), b, out=out)

    def int8(n: int) -> Callable[[], object]:
        side = min(n, SIZES[0])
        a, b = (
            tiled(torch.randint(-127, 128, (side, side), dtype=torch.int8), n) for _ in range(2)
        )
        out = torch.empty(n, n, dtype=torch.int32)
        return lambda: torch._int_mm(a, b.t(), out=out)  # a layer's weight is [out, in]

    return {"fp32": fp32, "bf16": bf16, "int8": int8}[kind]
