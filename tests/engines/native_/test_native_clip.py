"""Clipping in C: the same numbers under every schedule of its loops, and none takes much longer."""

import os
import subprocess
import sys

import numpy as np
import pytest
from native_engine import needs_gcc
from settled import settled

from cputrain.engines.native_ import library_build
from cputrain.experiment.system import OMP_SCHEDULES

pytestmark = needs_gcc
NATIVE = settled(engine="native", attention_backend="manual")
COUNT, MOST = 300_007, 1.0
CLIP = f"""
import ctypes, sys, time
import numpy as np
clip = ctypes.CDLL(sys.argv[1]).clip
clip.restype, clip.argtypes = ctypes.c_double, [ctypes.c_long, ctypes.c_void_p, ctypes.c_double]
given = np.random.default_rng(0).standard_normal({COUNT}, np.float32)
seconds = []
for _ in range(20):
    numbers = given.copy()
    start = time.thread_time()
    norm = clip(numbers.size, numbers.ctypes.data, {MOST})
    seconds.append(time.thread_time() - start)
numbers.tofile(sys.argv[2])
print(norm.hex(), min(seconds))
"""


@pytest.fixture
def clipped(tmp_path):
    """What clipping leaves, the norm, and the CPU seconds of the first thread."""
    library = library_build.library(NATIVE)

    def clip(schedule, threads):
        env = {"OMP_SCHEDULE": schedule, "OMP_NUM_THREADS": threads, "PATH": os.environ["PATH"]}
        words = [sys.executable, "-c", CLIP, library, tmp_path / "numbers"]
        done = subprocess.run(words, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        norm, seconds = done.stdout.split()
        return (tmp_path / "numbers").read_bytes(), float.fromhex(norm), float(seconds)

    return clip


def test_every_schedule_gives_the_same_bits(clipped):
    given = np.random.default_rng(0).standard_normal(COUNT, np.float32)
    expected, norm, _ = clipped("static", "1")
    assert norm == pytest.approx(np.linalg.norm(given.astype(np.float64)))
    assert expected == (given * np.float32(MOST / norm)).tobytes()
    for schedule in OMP_SCHEDULES:
        assert clipped(schedule, "2")[:2] == (expected, norm)


def test_no_schedule_has_a_thread_wait_for_each_number(clipped):
    _, _, usual = clipped("static", "1")
    assert clipped("dynamic", "1")[2] < 5 * usual
