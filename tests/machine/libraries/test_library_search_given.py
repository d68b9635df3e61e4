"""Paths of libraries that the user gives, and those that workers are told."""

import subprocess
import sys

import pytest
from made_libraries import put

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine import library_search

pytestmark = [pytest.mark.stack, pytest.mark.tools]


def test_a_given_path_goes_before_all_others_and_nothing_stands_in_for_a_bad_one(root, monkeypatch):
    put(root / "usr/lib/libjemalloc.so.2")
    own = put(root / "mine/custom.so")
    monkeypatch.setenv(library_search.VARIABLE, f"mkl=/x:jemalloc={own}")
    assert library_search.find("jemalloc", root) == own
    own.unlink()
    with pytest.raises(library_search.Missing, match=r"jemalloc=.*custom.so: No such file"):
        library_search.find("jemalloc", root)
    monkeypatch.setenv(library_search.VARIABLE, "jemalloc")
    with pytest.raises(library_search.Missing, match="NAME=PATH is needed"):
        library_search.find("jemalloc", root)


def test_flags_join_what_the_environment_gives(tmp_path, monkeypatch):
    given, flagged = put(tmp_path / "one.so"), put(tmp_path / "other.so")
    monkeypatch.setenv(library_search.VARIABLE, f"mkl={given}:jemalloc={given}")
    monkeypatch.chdir(tmp_path)
    assert library_search.from_arguments(["jemalloc=other.so"]) == f"mkl={given}:jemalloc={flagged}"
    monkeypatch.delenv(library_search.VARIABLE)
    assert library_search.from_arguments([]) == ""


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("jmalloc=/x", "NAME one of libiomp5, mkl"),
        ("jemalloc", "NAME=PATH is needed"),
        ("jemalloc=", "NAME=PATH is needed"),
        ("jemalloc=/nowhere/x.so", "/nowhere/x.so: No such file"),
        ("jemalloc=/proc/self/status", "not a shared library"),
        ("jemalloc=/", "Is a directory"),
        ("jemalloc=/a:/b", "colon"),
    ],
)
def test_a_bad_flag_is_named(word, named):
    with pytest.raises(UsageError) as caught:
        library_search.from_arguments([word])
    assert named in str(caught.value) and "\n" not in str(caught.value)


def test_a_bad_flag_is_status_2_before_anything_is_done():
    pytest.importorskip("rich")
    command = [
        sys.executable,
        "-m",
        "cputrain.commands.cli",
        "run",
        "--library",
        "jemalloc=/nowhere",
    ]
    done = subprocess.run(command, cwd=paths.PROJECT, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and done.stdout == ""
    assert "jemalloc=/nowhere: No such file" in done.stderr


def test_a_flag_with_a_space_in_the_path_is_refused_where_it_is_preloaded(tmp_path):
    path = put(tmp_path / "a b" / "lib.so")
    with pytest.raises(UsageError, match="space or colon"):
        library_search.from_arguments([f"jemalloc={path}"])
    assert library_search.from_arguments([f"mkl={path}"]) == f"mkl={path}"


def test_workers_are_told_what_was_found(root, monkeypatch, tmp_path):
    wheel = put(tmp_path / "stack/lib/libmkl_rt.so.3")
    told = library_search.settled()
    monkeypatch.setattr(library_search, "prefixes", lambda: ())
    monkeypatch.setenv(library_search.VARIABLE, told)
    assert library_search.find("mkl") == wheel
