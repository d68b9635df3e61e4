"""What the C library tells of itself is what Python lays out and counts by; a thread's stack."""

import os
import shutil
import subprocess
import sys

import pytest
from native_engine import needs_gcc
from toy_sources import NATIVE, asking

from cputrain import paths
from cputrain.engines import EngineError
from cputrain.engines.native_ import library_build
from cputrain.engines.native_.binding import Functions
from cputrain.model import native

pytestmark = needs_gcc
FAST_TO_BUILD = asking(level="O0", cc_target="generic")


@pytest.mark.parametrize(
    "file, line, changed, name",
    [
        ("attention.h", "QUERIES = 64", "QUERIES = 32", "queries is 32 in the library and 64"),
        ("attention.h", "KEYS = 256", "KEYS = 128", "keys is 128 in the library and 256"),
        ("matmul.h", "PACKED = 1 << 20", "PACKED = 1 << 19", "packed is 524288"),
        ("gpt.h", "int n_layer, n_embd", "int n_embd, n_layer", "sizes.n_layer is 4"),
        ("gpt.h", "int activation;", "int activation, more;", "sizes is 44"),
        ("adamw.h", "double beta1, beta2", "double beta2, beta1", "adamw.beta1 is 8"),
        ("matmul.h", "long row, column", "long column, row", "factor.row is 16"),
    ],
)
def test_a_library_that_differs_from_python_is_refused(own_root, file, line, changed, name):
    sources = shutil.copytree(library_build.SOURCES, own_root / "src")
    text = (sources / file).read_text()
    assert text.count(line) == 1
    (sources / file).write_text(text.replace(line, changed))
    with pytest.raises(EngineError, match=name) as error:
        Functions(str(library_build.library(FAST_TO_BUILD, sources)))
    assert "\n" not in str(error.value)


def test_panels_of_a_factor_are_no_wider_than_memory_is_counted_by():
    for experiment in (NATIVE, FAST_TO_BUILD):
        panel = Functions(str(library_build.library(experiment))).constants["panel"]
        assert 0 < panel <= native.PANEL and native.PANEL % panel == 0


STEP = """
import numpy as np
from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.experiment import Experiment
from cputrain.model.initial import initial_weights
e = Experiment().but(engine="native", attention_backend="manual", n_layer=1, n_embd=32, n_head=2)
e = e.but(seq_len=300, batch_size=1)
ids = np.zeros((1, 300), int)
try:
    print(engines.build(e, initial_weights(e)).train_step(Batch(ids, ids)) > 0)
except engines.EngineError as error:
    print(error)
"""


def step(**environment):
    """What a step in a process of its own prints, on two threads."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(paths.PROJECT), "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", STEP], env=env | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_a_stack_that_is_too_small_is_one_line_and_not_the_end_of_the_process():
    (line,) = step(OMP_STACKSIZE="100K")
    assert "KiB of stack left and needs" in line and "set OMP_STACKSIZE=1M" in line
    needed = Functions(str(library_build.library(NATIVE))).stack_needed()
    assert step(OMP_STACKSIZE=f"{needed // 1024 + 16}K") == ["True"]


@pytest.mark.parametrize("level", ["O0", "O3", "Ofast"])
def test_the_largest_frames_leave_room_for_a_library_s(level, tmp_path):
    """One function in a file has large arrays at most: the others' frames are hundreds of bytes."""
    library = Functions(str(library_build.library(asking(level=level))))
    words = ["gcc", "-std=c11", f"-{level}", "-march=native", "-fopenmp", "-fPIC", "-fstack-usage"]
    frames = 0
    for source in library_build.SOURCES.glob("*.c"):
        subprocess.run([*words, "-c", source, "-o", tmp_path / f"{source.stem}.o"], check=True)
        usage = (tmp_path / f"{source.stem}.su").read_text().splitlines()
        frames += max(int(line.split("\t")[1]) for line in usage)
    assert 100_000 < frames < library.stack_needed() - (48 << 10)
