"""What libraries say of themselves, and files that are not the libraries that they should be."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from given_libraries import NAMES, load, path

from cputrain import paths
from cputrain.engines import EngineError, blas, verbose
from cputrain.engines.blas import KINDS, OneDnn
from cputrain.engines.numpy_.products import Products


@pytest.mark.parametrize("name", NAMES)
def test_it_is_in_the_file_that_was_asked_for_and_tells_its_version(name, monkeypatch):
    library = load(monkeypatch, name)
    assert library.path == str(Path(path(name)).resolve())
    assert any(character.isdigit() for character in library.version())


@pytest.mark.parametrize("name", NAMES)
def test_its_products_are_counted_while_watched_and_nothing_is_printed_after(
    name, monkeypatch, capfd
):
    multiply = Products(load(monkeypatch, name))
    a = np.ones((3, 4), np.float32)
    multiply(a, a.T)
    with multiply.library.watched() as counted:
        multiply(a, a.T)
        multiply(a.T, a)
    assert counted == {name: 2}
    multiply(a, a.T)
    assert capfd.readouterr().out == ""
    with multiply.library.watched() as counted:
        pass
    assert sum(counted.values()) == 0


@pytest.mark.parametrize("name", NAMES)
def test_another_file_is_refused_in_one_line(name, tmp_path):
    text = tmp_path / "libtext.so"
    text.write_text("no library")
    for other, said in ((text, "cannot be loaded"), ("libm.so.6", "has no ")):
        with pytest.raises(EngineError, match=said) as caught:
            KINDS[name](str(other))
        assert "\n" not in str(caught.value)


def test_onednn_for_other_threads_than_the_wanted_ones_is_refused(monkeypatch):
    """This one is for OpenMP's; were those of TBB wanted, it would not do."""
    monkeypatch.setattr(blas, "OPENMP", 4)
    with pytest.raises(EngineError, match=r"libdnnl.*CPU runtime 2: a build for OpenMP is needed"):
        OneDnn(path("onednn"))


THREADS = """
import json, sys
from cputrain.engines.blas import KINDS
from cputrain.engines.numpy_.products import Products, described
import numpy as np
from threadpoolctl import threadpool_info
multiply = Products(KINDS[sys.argv[1]](sys.argv[2]))
multiply(np.ones((8, 8), np.float32), np.ones((8, 8), np.float32))
found = described(multiply, threadpool_info())
print(json.dumps([found["threads"], found["threading"]]))
"""


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("name", NAMES)
def test_it_follows_the_thread_counts_of_the_environment(name, threads):
    counts = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    layers = {"MKL_THREADING_LAYER": "GNU", "MKL_INTERFACE_LAYER": "LP64", "MKL_DYNAMIC": "FALSE"}
    env = dict.fromkeys(counts, threads) | layers | {"PYTHONPATH": str(paths.PROJECT)}
    done = subprocess.run(
        [sys.executable, "-c", THREADS, name, path(name)],
        env=env | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    layer = {"openblas": "pthreads", "mkl": "gnu", "onednn": "openmp"}[name]
    cpus = len(os.sched_getaffinity(0))  # OpenBLAS has no more threads than that
    expected = min(int(threads), cpus) if name == "openblas" else int(threads)
    assert json.loads(done.stdout.splitlines()[-1]) == [expected, layer]


def test_lines_are_counted_by_library():
    lines = [
        "MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for Intel(R) 64 lp64",
        "MKL_VERBOSE SGEMM(N,N,40,20,30,0x7f,0x55,40,0x55,30,0x7f,0x55,40) 16us NThr:1",
        "MKL_VERBOSE SGEMV(N,40,20,0x7f,0x55,40,0x55,1,0x7f,0x55,1) 16us NThr:1",
        "MKL_VERBOSE SGEMM_BATCH_STRIDED(N,N,40,20,30) 16us",
        "MKL_VERBOSE DGEMM(N,N,40,20,30) 16us",
        "onednn_verbose,v1,primitive,info,template:operation,engine,exec_time",
        "onednn_verbose,v1,primitive,create_nested:cache_miss,cpu,matmul,brg_matmul:avx512_core",
        "onednn_verbose,v1,primitive,exec,cpu,inner_product,brg_matmul:avx512_core,forward",
        "onednn_verbose,v1,primitive,exec,cpu,eltwise,jit:avx512_core,backward_data",
        "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src_f32 exec,cpu,matmul",
        "onednn_verbose,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:f0",
        "words of some matmul",
    ]
    assert verbose.by_library(lines) == {"mkl": 2, "onednn": 2}


def test_output_is_captured_from_c_and_from_python_and_goes_on_after(capfd):
    libc = ctypes.CDLL(None)
    with verbose.captured() as lines:
        libc.puts(b"from C")
        os.write(1, b"from the system\n")
    libc.puts(b"after")
    libc.fflush(None)
    assert sorted(lines) == ["from C", "from the system"]
    assert capfd.readouterr().out == "after\n"
