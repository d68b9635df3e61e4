"""Libraries' own records of how they were built, of real compilers; and files without one."""

import shutil
import subprocess

import pytest

from cputrain.machine import built
from cputrain.machine.reading import Unknown

RECORD = "-frecord-gcc-switches"


def library(folder, program, *switches, sources=1):
    """A shared library of some sources, each compiled by itself with one of the switches first."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    objects = []
    for n in range(sources):
        source = folder / f"part{n}.cpp"
        source.write_text(f"int part{n}(int x) {{ return x * {n + 3}; }}")
        objects.append(source.with_suffix(".o"))
        words = [*switches[n:], "-fPIC", "-c", str(source), "-o", str(objects[-1])]
        subprocess.run([program, *words], check=True)
    whole = folder / "whole.so"
    subprocess.run([program, "-shared", *map(str, objects), "-o", str(whole)], check=True)
    return whole


@pytest.mark.parametrize("program", ["g++", "clang++"])
def test_the_compiler_and_the_last_level_are_told(tmp_path, program):
    build = built.read(library(tmp_path, program, "-O3", "-O1", RECORD))
    assert build.compiler == program
    assert build.last(r"-(O\w*)") == ["O1"]
    assert build.last(r"-march=(nothing)") == [""]


def test_every_object_has_its_own_level(tmp_path):
    build = built.read(library(tmp_path, "g++", "-O3", "-O2", RECORD, sources=2))
    assert build.last(r"-(O\w*)") == ["O2"]
    other = tmp_path / "other"
    other.mkdir()
    build = built.read(library(other, "g++", "-O1", RECORD, "-Wall", sources=2))
    assert build.last(r"-(O\w*)") == ["", "O1"]


def test_without_the_switch_no_level_is_told(tmp_path):
    build = built.read(library(tmp_path, "g++", "-O3"))
    assert build.compiler == "g++"
    assert build.switches == () and build.last(r"-(O\w*)") == []


def test_what_is_no_library_or_is_cut_short_is_unknown(tmp_path):
    text = tmp_path / "text.so"
    text.write_text("not a library " * 20)
    with pytest.raises(Unknown, match="no 64-bit ELF file"):
        built.read(text)
    whole = library(tmp_path, "g++", "-O1", RECORD)
    whole.write_bytes(whole.read_bytes()[:200])
    with pytest.raises(Unknown, match="cut short"):
        built.read(whole)
    subprocess.run(["strip", "-R", ".comment", library(tmp_path, "g++")], check=True)
    with pytest.raises(Unknown, match="names no compiler"):
        built.read(tmp_path / "whole.so")
