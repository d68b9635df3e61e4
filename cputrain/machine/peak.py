"""The most that this machine's CPUs were seen to compute: fp32 matrix products.

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

FIELD = "fp32_matmul_flops"


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
    if not isinstance(content, dict) or not isinstance(content.get(FIELD, {}), dict):
        raise MachineError(f"{path} is damaged: not the object that was written; delete it")
    return content


def merge(path: Path, measured: dict[str, Any]) -> dict[str, Any]:
    """Put a measurement into machine.json; what the file holds then.

    Of two rates of one thread count the better one is kept, as long as torch is the same.

    Raises:
        MachineError: the file is damaged, or cannot be written.
    """
    old = read(path)
    known = old.get(FIELD, {}) if old.get("torch") == measured.get("torch") else {}
    better = {n: max(rate, known.get(n, 0.0)) for n, rate in measured[FIELD].items()}
    peaks = {**known, **better}
    whole = {**old, **measured, FIELD: dict(sorted(peaks.items(), key=lambda item: int(item[0])))}
    try:
        atomic.write_json(path, whole)
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from error
    return whole


def main(arguments: list[str] | None = None) -> int:
    """Measure at each thread count, one after the other, and print JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m cputrain.machine.peak",
        description="Measure the fp32 matrix product peak, best of many readings, and print JSON.",
    )
    parser.add_argument("--threads", type=int, nargs="+", required=True, metavar="N")
    options = parser.parse_args(arguments)
    allowed = len(os.sched_getaffinity(0))
    if not all(1 <= n <= allowed for n in options.threads):
        parser.error(f"--threads: from 1 to {allowed} (the CPUs allowed)")
    import torch

    def product(n: int) -> Callable[[], object]:
        a, b, out = torch.rand(n, n), torch.rand(n, n), torch.empty(n, n)
        return lambda: torch.mm(a, b, out=out)

    peaks = {}
    for n in options.threads:
        torch.set_num_threads(n)
        peaks[str(n)] = float(f"{best_rate(product):.4g}")
    date = datetime.now(UTC).isoformat(timespec="seconds")
    print(json.dumps({"date": date, "torch": str(torch.__version__), FIELD: peaks}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
