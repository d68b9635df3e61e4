"""Memory bandwidth: how large the arrays are, the best reading, and the real triad."""

import os
import subprocess
import sys

import pytest

from cputrain.machine import bandwidth
from cputrain.machine.reading import Unknown


def test_arrays_are_four_times_the_caches_that_the_threads_use(server):
    mib = 1 << 20
    assert bandwidth.array_bytes((0,), server.root) == 4 * 48 * mib
    assert bandwidth.array_bytes((0, 1, 2, 3), server.root) == 4 * 48 * mib
    assert bandwidth.array_bytes((0, 4), server.root) == 2 * 4 * 48 * mib


def test_small_caches_get_arrays_that_are_large_all_the_same(tree):
    cache = "/sys/devices/system/cpu/cpu0/cache/index2"
    tree.put({"/proc/meminfo": "MemAvailable: 4000000 kB"})
    tree.put({f"{cache}/level": 2, f"{cache}/type": "Unified", f"{cache}/size": "1M"})
    tree.put({f"{cache}/shared_cpu_list": "0-3"})
    assert bandwidth.last_level_bytes((0,), tree.root) == 1 << 20
    assert bandwidth.array_bytes((0,), tree.root) == bandwidth.SMALLEST


def test_without_memory_or_caches_there_is_a_reason_and_no_smaller_array(server):
    server.put({"/proc/meminfo": "MemAvailable: 1000000 kB"})
    with pytest.raises(Unknown, match=r"three arrays of 192 MiB.*do not fit in 50% of the 976 MiB"):
        bandwidth.array_bytes((0,), server.root)


def test_a_machine_that_tells_no_caches(bare):
    bare.put({"/proc/meminfo": "MemAvailable: 1000000000 kB"})
    with pytest.raises(Unknown, match="no cache listed"):
        bandwidth.array_bytes((0,), bare.root)


def test_the_best_reading_counts_and_the_time_is_kept():
    now, factors = [0.0], [3.0, 1.5, 1.0, 2.0]

    def triad(size):
        now[0] += 0.3  # pages are touched first

        def run():
            factors.append(factors.pop(0))
            now[0] += factors[-1] * 3 * size / 1e10

        return run

    def measured(seconds):
        now[0] = 0.0
        return bandwidth.best_bandwidth(triad, 10**8, seconds, lambda: now[0])

    assert measured(1.0) == pytest.approx(1e10)
    assert 1.0 <= now[0] < 1.2
    measured(0.0)
    assert now[0] < 0.6


PARTS = """
import os, sys
from cputrain.machine import topology
os.environ["OMP_PROC_BIND"] = "close"
import torch
torch.set_num_threads(2)
from cputrain.machine import bandwidth, reading, threads

def faults():
    lines = threads.lines(reading.ROOT, "stat")
    return {t: int(line.rpartition(b")")[2].split()[7]) for t, line in lines.items()}

n = (64 << 20) // 8
torch.ones(n // 8).add_(1.0)  # the pool is there
b, c = torch.ones(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64)
for write in (lambda a: a.fill_(1.0), lambda a: torch.add(b, c, alpha=3.0, out=a)):
    a = torch.empty(n, dtype=torch.float64)
    before = faults()
    write(a)
    print(*sorted(n - before.get(t, 0) for t, n in faults().items())[-2:])
"""


def test_first_touch_and_triad_are_shared_out_in_equal_parts():
    """Counted by the page faults of each thread on arrays that nobody has touched."""
    pytest.importorskip("torch")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU is allowed")
    done = subprocess.run([sys.executable, "-c", PARTS], capture_output=True, text=True)
    lines = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(lines) == 2, done.stderr
    for fewer, more in lines:
        assert more > 0 and fewer > 0.8 * more


def test_the_triad_computes_what_it_says():
    torch = pytest.importorskip("torch")
    run = bandwidth.torch_triad(8000)
    out = run()
    assert out.shape == (1000,) and out.dtype == torch.float64
    assert torch.all(out == 1.0 + 3.0 * 2.0) and run() is out
