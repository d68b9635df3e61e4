"""The most that this machine's CPUs were seen to compute: matrix products by type of number.

As a program, in the measured stack: `python -m cputrain.machine.peak --threads 1 2` prints
what it found as JSON; `merge` keeps it in result/<machine>/machine.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cputrain import atomic
from cputrain.machine.reading import MachineError

SIZES = (512, 768, 1024, 1536, 2048, 3072, 4096)
"""Rows of the square matrices: the best size differs from machine to machine."""

SECONDS = 3.5
"""Time for all sizes at one thread count. Many readings: one short burst reads up to 25 % low."""

LOW_SECONDS = 2.0
"""The same for bf16 and int8, which few cells need."""

FIELD = "fp32_matmul_flops"
FIELDS = {"fp32": FIELD, "bf16": "bf16_matmul_flops", "int8": "int8_matmul_flops"}
"""Type of number -> the field of machine.json that has its rates by number of threads.

int8 products are added up in int32 (`torch._int_mm`); a multiply-add counts as two in all.
"""


def best_rate(
    product: Callable[[int], Callable[[], object]],
    seconds: float = SECONDS,
    sizes: tuple[int, ...] = SIZES,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The best of many readings over all sizes, FLOP/s; one product is 2 n^3 FLOP.

    Args:
        product: gives, for a size n, what multiplies two n x n matrices once.
        seconds: shared out among the sizes; a size of which one product takes more than its
            share is read twice all the same, and ends the search: larger ones take longer.
        sizes: ascending.
        clock: seconds.
    """
    best = 0.0
    for n in sizes:
        run = product(n)
        run()
        end = clock() + seconds / len(sizes)
        slowest, readings = 0.0, 0
        while readings < 2 or clock() < end:
            start = clock()
            run()
            took = clock() - start
            slowest, readings = max(slowest, took), readings + 1
            best = max(best, 2 * n**3 / took)
        if slowest > seconds / len(sizes):
            break
    return best


def read(path: Path) -> dict[str, Any]:
    """What machine.json holds; empty where there is none.

    Raises:
        MachineError: it is not the JSON that was written, or cannot be read.
    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise MachineError(f"{path} is damaged: not JSON; delete it") from error
    if not isinstance(content, dict) or not all(
        isinstance(content.get(field, {}), dict) for field in FIELDS.values()
    ):
        raise MachineError(f"{path} is damaged: not the object that was written; delete it")
    return content


def merge(path: Path, measured: dict[str, Any]) -> dict[str, Any]:
    """Put a measurement into machine.json; what the file holds then.

    Of two rates of one thread count the better one is kept, as long as torch is the same; what
    another torch reached is forgotten.

    Raises:
        MachineError: the file is damaged, or cannot be written.
    """
    old = read(path)
    whole = {**old, **measured}
    for field in FIELDS.values():
        known = old.get(field, {}) if old.get("torch") == measured.get("torch") else {}
        rates = {n: max(rate, known.get(n, 0.0)) for n, rate in measured.get(field, {}).items()}
        whole[field] = dict(sorted({**known, **rates}.items(), key=lambda item: int(item[0])))
        if not whole[field]:
            del whole[field]
    try:
        atomic.write_json(path, whole)
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from error
    return whole


def products(kind: str) -> Callable[[int], Callable[[], object]]:
    """What gives, for a size n, a product of two n x n matrices of `kind`, a key of FIELDS."""
    import torch

    def fp32(n: int) -> Callable[[], object]:
        a, b, out = torch.rand(n, n), torch.rand(n, n), torch.empty(n, n)
        return lambda: torch.mm(a, b, out=out)

    def bf16(n: int) -> Callable[[], object]:
        a, b, out = (torch.rand(n, n).bfloat16() for _ in range(3))
        return lambda: torch.mm(a, b, out=out)

    def int8(n: int) -> Callable[[], object]:
        a, b = (torch.randint(-127, 128, (n, n), dtype=torch.int8) for _ in range(2))
        out = torch.empty(n, n, dtype=torch.int32)
        return lambda: torch._int_mm(a, b.t(), out=out)  # a layer's weight is [out, in]

    return {"fp32": fp32, "bf16": bf16, "int8": int8}[kind]


def main(arguments: list[str] | None = None) -> int:
    """Measure each type at each thread count, one after the other, and print JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m cputrain.machine.peak",
        description="Measure the matrix product peak, best of many readings, and print JSON.",
    )
    parser.add_argument("--threads", type=int, nargs="+", required=True, metavar="N")
    parser.add_argument("--types", nargs="+", choices=tuple(FIELDS), default=["fp32"])
    options = parser.parse_args(arguments)
    allowed = len(os.sched_getaffinity(0))
    if not all(1 <= n <= allowed for n in options.threads):
        parser.error(f"--threads: from 1 to {allowed} (the CPUs allowed)")
    import torch

    found: dict[str, Any] = {"date": datetime.now(UTC).isoformat(timespec="seconds")}
    found["torch"] = str(torch.__version__)
    for kind in options.types:
        rates = found[FIELDS[kind]] = {}
        for n in options.threads:
            torch.set_num_threads(n)
            rate = best_rate(products(kind), SECONDS if kind == "fp32" else LOW_SECONDS)
            rates[str(n)] = float(f"{rate:.4g}")
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
