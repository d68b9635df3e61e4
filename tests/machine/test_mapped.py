"""What is mapped, read from made files and from this process."""

import ctypes
import sys
from pathlib import Path

import pytest

from cputrain.machine import mapped
from cputrain.machine.reading import Unknown

MAPS = """\
55d0-55d1 r--p 00000000 fe:00 11                         /usr/bin/python3.11
55d1-55d2 rw-p 00000000 00:00 0                          [heap]
7f00-7f01 r--p 00000000 fe:00 12                         /opt/my libs/libiomp5.so
7f01-7f02 r-xp 00001000 fe:00 12                         /opt/my libs/libiomp5.so
7f02-7f03 r-xp 00000000 fe:00 13                         /env/torch/lib/libgomp-a34b3233.so.1
7f03-7f04 r-xp 00000000 fe:00 14                         /usr/lib/libgomp.so.1.0.0 (deleted)
7f04-7f05 r-xp 00000000 fe:00 15                         /usr/lib/llvm/libomp.so.5
7f05-7f06 r-xp 00000000 fe:00 16                         /usr/lib/libomptarget.so
7f06-7f07 r-xp 00000000 fe:00 17                         /usr/lib/libiomp5.so/readme.txt
7f07-7f08 rw-p 00000000 00:00 0
7ffe-7fff r-xp 00000000 00:00 0                          [vdso]
"""


@pytest.fixture
def made(tree):
    tree.put({"/proc/self/maps": MAPS})
    return tree.root


def test_each_mapped_file_is_told_once(made):
    paths = mapped.files(made)
    assert paths[:3] == [
        *("/usr/bin/python3.11", "/opt/my libs/libiomp5.so"),
        "/env/torch/lib/libgomp-a34b3233.so.1",
    ]
    assert "/usr/lib/libgomp.so.1.0.0" in paths
    assert len(paths) == 7 and not any("[" in path for path in paths)


def test_openmp_runtimes_are_told_by_the_file_s_name(made):
    assert mapped.openmp_runtimes(made) == [
        "/opt/my libs/libiomp5.so",
        "/env/torch/lib/libgomp-a34b3233.so.1",
        "/usr/lib/libgomp.so.1.0.0",
        "/usr/lib/llvm/libomp.so.5",
    ]
    assert mapped.libraries("libiomp5", root=made) == ["/opt/my libs/libiomp5.so"]
    assert mapped.libraries("libjemalloc", root=made) == []


def test_this_process_maps_its_interpreter():
    assert any("python" in path for path in mapped.files())
    if "torch" not in sys.modules:
        assert mapped.libraries("libtorch_cpu") == []


def test_a_machine_without_the_file_says_so(tree):
    with pytest.raises(Unknown, match="/proc/self/maps"):
        mapped.files(tree.root)


def test_a_function_is_found_in_the_file_that_has_it():
    assert Path(mapped.file_of(ctypes.CDLL(None).dlopen)).name.startswith("libc")
    with pytest.raises(Unknown, match="in no file"):
        mapped.file_of(ctypes.c_void_p(1))
