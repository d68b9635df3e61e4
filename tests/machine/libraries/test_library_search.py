"""Where libraries are found, on made trees with this machine's own headers, and for real."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from made_libraries import ELF, TRIPLET, put

from cputrain import paths
from cputrain.machine import library_search
from cputrain.machine.library_catalogue import LIBRARIES


def test_the_stack_goes_before_conda_and_conda_before_the_system(root, tmp_path, monkeypatch):
    system = put(root / "usr/lib" / TRIPLET / "libmimalloc.so.2.0")
    assert library_search.find("mimalloc", root) == system
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    conda = put(tmp_path / "conda/lib/libmimalloc.so.2")
    assert library_search.find("mimalloc", root) == conda
    site = tmp_path / "stack/lib/python3.11/site-packages"
    wheel = put(site / "cmeel.prefix/lib/libmimalloc.so.3.4")
    assert library_search.find("mimalloc", root) == wheel


def test_what_pip_has_not_brought_yet_is_found_once_it_has(tmp_path, root):
    """A first start plans while asv's environment is being built."""
    with pytest.raises(library_search.Missing):
        library_search.find("libiomp5", root)
    brought = put(tmp_path / "stack/lib/libiomp5.so")
    assert library_search.find("libiomp5", root) == brought


@pytest.mark.parametrize("folder", [f"usr/lib/{TRIPLET}", "usr/lib64", "usr/local/lib", "lib64"])
def test_library_folders_of_several_distributions(root, folder):
    path = put(root / folder / "libjemalloc.so.2")
    assert library_search.find("jemalloc", root) == path


def test_the_newest_version_that_will_do_is_taken(root):
    folder = root / "usr/lib"
    for name in ("libmkl_rt.so.1", "libmkl_rt.so.2", "libmkl_rt.so.3", "libmkl_rt.so.9"):
        put(folder / name)
    assert library_search.find("mkl", root).name == "libmkl_rt.so.3"
    for name in ("libtcmalloc.so.4.5.9", "libtcmalloc_minimal.so.4.5.9", "libtcmalloc.so.5"):
        put(folder / name)
    put(folder / "libtcmalloc_minimal.so.4.5.10")
    put(folder / "libtcmalloc_minimal_debug.so.4")
    assert library_search.find("tcmalloc", root).name == "libtcmalloc_minimal.so.4.5.10"


def test_what_cannot_serve_is_passed_over(root):
    put(root / "usr/local/lib/libjemalloc.so.2", b"INPUT(somewhere else)")
    put(root / "usr/lib/libjemalloc.so.2", ELF[:18] + b"\xf3\xf3")
    good = put(root / "usr/lib64/libjemalloc.so.2")
    assert library_search.find("jemalloc", root) == good


def test_where_all_cannot_serve_the_reason_is_the_first_one_s(root):
    put(root / "usr/lib/libjemalloc.so.2", ELF[:18] + b"\xf3\xf3")
    with pytest.raises(
        library_search.Missing, match=r"libjemalloc.so.2: .* another kind of machine"
    ):
        library_search.find("jemalloc", root)


def test_a_link_to_another_library_is_not_that_library(root):
    """Debian's LLVM has its own runtime under Intel's name."""
    folder = root / "usr/lib"
    put(folder / "libomp.so.5")
    (folder / "libiomp5.so").symlink_to("libomp.so.5")
    with pytest.raises(library_search.Missing):
        library_search.find("libiomp5", root)


def test_a_path_with_a_space_cannot_be_preloaded_and_can_be_opened(tmp_path, root, monkeypatch):
    monkeypatch.setattr(library_search, "prefixes", lambda: (tmp_path / "my stack",))
    put(tmp_path / "my stack/lib/libiomp5.so")
    opened = put(tmp_path / "my stack/lib/libmkl_rt.so.3")
    with pytest.raises(library_search.Missing, match="space or colon: copy the file"):
        library_search.find("libiomp5", root)
    assert library_search.find("mkl", root) == opened
    # Nor does asv bring one that can: what a sweep skips it lists as skipped.
    monkeypatch.setattr(library_search, "in_stack", lambda: False)
    assert "space or colon" in library_search.why_not("libiomp5")
    assert library_search.expected("mimalloc")


@pytest.mark.skipif(shutil.which("ldconfig", path="/sbin:/usr/sbin") is None, reason="no ldconfig")
def test_the_loader_s_cache_is_read():
    library_search._loader_cache.cache_clear()
    listed = library_search._loader_cache(Path("/"))
    assert any(path.name == "libc.so.6" and path.exists() for path in listed)
    assert library_search._loader_cache(Path("/nowhere")) == ()


def test_what_the_cache_lists_is_found_in_whatever_folder(root, monkeypatch):
    odd = put(root / "opt/odd/libjemalloc.so.2")
    monkeypatch.setattr(library_search, "_loader_cache", lambda _: (Path("/lib/libz.so.1"), odd))
    assert library_search.find("jemalloc", root) == odd


def test_a_missing_one_says_what_to_install_for_two_families(root):
    for name, words in {
        "jemalloc": ["apt install libjemalloc2", "dnf install jemalloc"],
        "tcmalloc": ["apt install libtcmalloc-minimal4", "dnf install gperftools-libs"],
        "mimalloc": ["pip install cmeel-mimalloc==", "asv's environment"],
    }.items():
        with pytest.raises(library_search.Missing) as caught:
            library_search.find(name, root)
        said = str(caught.value)
        assert said.startswith(f"{name} is not installed: ") and "\n" not in said
        assert all(word in said for word in words), said


def test_where_there_is_no_wheel_for_this_machine_none_is_recommended(root, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(library_search.Missing) as caught:
        library_search.find("libiomp5", root)
    assert "x86_64 only" in str(caught.value) and "pip" not in str(caught.value)
    monkeypatch.setattr(library_search, "in_stack", lambda: False)
    assert not library_search.expected("libiomp5") and library_search.expected("mimalloc")


def test_a_wheel_that_asv_will_bring_is_expected_from_outside_only(root, monkeypatch):
    monkeypatch.setattr(library_search, "in_stack", lambda: False)
    assert library_search.expected("mimalloc") and not library_search.expected("mkl")
    assert not library_search.expected("jemalloc")
    monkeypatch.setattr(library_search, "in_stack", lambda: True)
    assert not library_search.expected("mimalloc")


def test_why_not_is_silent_about_what_asv_will_bring(monkeypatch):
    def missing(name, root=None):
        raise library_search.Missing(f"{name} is not installed")

    monkeypatch.setattr(library_search, "find", missing)
    monkeypatch.setattr(library_search, "in_stack", lambda: False)
    assert library_search.why_not("mimalloc") is None
    assert library_search.why_not("mkl") == "mkl is not installed"


def test_the_versions_are_those_of_the_requirements_and_of_the_extra():
    lines = (paths.PROJECT / "requirements.txt").read_text().splitlines()
    project = tomllib.loads((paths.PROJECT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["libraries"]
    wanted = []
    for library in LIBRARIES.values():
        marker = f'; platform_machine == "{library.machines[0]}"' if library.machines else ""
        wanted += [library.wheel + marker] if library.wheel else []
    assert sorted(wanted) == sorted(extra)
    assert {line for line in wanted if not line.startswith("mkl")} <= set(lines)


def test_the_tools_look_into_asv_s_environments(tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(library_search, "in_stack", lambda: False)
    monkeypatch.setattr(paths, "PROJECT", tmp_path)
    for name, age in (("older", 2000), ("newer", 1000)):
        python = put(tmp_path / ".asv/env" / name / "bin/python")
        os.utime(python, (1e9 - age, 1e9 - age))
    assert [prefix.name for prefix in library_search.prefixes()] == ["newer", "older"]


def test_what_is_found_here_is_mapped_where_it_is_loaded():
    """For real: by ctypes, in a process of its own."""
    libraries = {}
    for name in ("mkl", "openblas", "onednn", "libiomp5"):
        try:
            libraries[name] = library_search._search(name, Path("/"), (Path(sys.prefix),), "")
        except library_search.Missing:
            continue
    libraries = {name: path for name, path in libraries.items() if isinstance(path, Path)}
    if not libraries:
        pytest.skip("none is installed here")
    for path in libraries.values():
        code = f"import ctypes; ctypes.CDLL({str(path)!r}); print(open('/proc/self/maps').read())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert re.search(re.escape(str(path.resolve())), done.stdout), done.stderr
