"""Which optional pieces are missing, and the commands that add them, by distribution."""

import os
import platform
import shlex
import shutil
from pathlib import Path

import pytest

from cputrain import paths
from cputrain.machine import compilers, library_search, optional_pieces
from cputrain.machine.library_catalogue import LIBRARIES


@pytest.fixture
def nothing(monkeypatch, tmp_path):
    """A machine without any of them, seen from the tools, with asv's environment in tmp_path."""
    monkeypatch.setattr(library_search, "prefixes", lambda: (tmp_path / "env",))
    monkeypatch.setattr(library_search, "in_stack", lambda: True)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(compilers, "python_header", lambda: tmp_path / "Python.h")
    for name in (library_search.VARIABLE, "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


def by_start(root):
    return {f.text.split()[0]: f for f in optional_pieces.findings(root) if f.level == "missing"}


def at_once(root, kind):
    (finding,) = (
        f for f in optional_pieces.findings(root) if f.text.startswith(f"all {kind} at once")
    )
    return finding.do


EXE = Path("/proc/self/exe").read_bytes()[:20]
DEBIAN = "libjemalloc2 libtcmalloc-minimal4 numactl gcc g++ python3-dev clang"
FEDORA = "jemalloc gperftools-libs numactl gcc gcc-c++ python3-devel clang"


@pytest.mark.parametrize(
    ("release", "commands"),
    [
        ("ID=debian", [f"sudo apt install {DEBIAN}"]),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"', [f"sudo apt install {DEBIAN}"]),
        ("ID=fedora", [f"sudo dnf install {FEDORA}"]),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"', [f"sudo dnf install {FEDORA}"]),
        ("ID=arch", [f"sudo apt install {DEBIAN}, or sudo dnf install {FEDORA}"]),
    ],
)
def test_the_packages_by_distribution(nothing, tree, release, commands):
    tree.put({"/etc/os-release": f"NAME=x\n{release}\nVERSION_ID=1"})
    assert [at_once(tree.root, "packages")] == commands


def test_without_a_release_file_both_are_named(nothing, tree):
    do = by_start(tree.root)["numactl"].do
    assert do == "sudo apt install numactl, or sudo dnf install numactl"


def test_root_needs_no_sudo(nothing, tree, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    tree.put({"/etc/os-release": "ID=debian"})
    assert by_start(tree.root)["jemalloc"].do == "apt install libjemalloc2"


def test_every_missing_piece_is_one_finding_with_its_command(nothing, tree):
    findings = by_start(tree.root)
    assert set(findings) == {piece.name for piece in optional_pieces.PIECES} | {"all"}
    for piece in optional_pieces.PIECES:
        finding = findings[piece.name]
        assert "is not installed; skipped without it: " in finding.text and finding.do
        assert "\n" not in finding.text + finding.do


def test_wheels_go_into_asv_s_environment(nothing, tree, tmp_path):
    pip = f"{tmp_path}/env/bin/python -m pip install"
    assert by_start(tree.root)["mkl"].do == f"{pip} {LIBRARIES['mkl'].wheel}"
    wheels = [library.wheel for library in LIBRARIES.values() if library.wheel]
    assert at_once(tree.root, "wheels") == f"{pip} {' '.join(wheels)}"


def test_its_command_can_be_pasted_where_a_folder_has_a_space(nothing, tree, tmp_path, monkeypatch):
    stack = tmp_path / "my bench"
    monkeypatch.setattr(library_search, "prefixes", lambda: (stack,))
    words = shlex.split(by_start(tree.root)["mkl"].do)
    assert words[:3] == [str(stack / "bin/python"), "-m", "pip"]
    monkeypatch.setattr(library_search, "prefixes", lambda: ())
    monkeypatch.setattr(paths, "PROJECT", stack)
    words = shlex.split(by_start(tree.root)["mkl"].do)
    assert words[:3] == [str(stack / ".asv/env/*/bin/python"), "-m", "pip"]


def test_no_wheel_is_recommended_where_its_library_is_there_and_cannot_be_used(
    nothing, tree, tmp_path, monkeypatch
):
    stack = tmp_path / "my bench"
    monkeypatch.setattr(library_search, "prefixes", lambda: (stack,))
    (stack / "lib").mkdir(parents=True)
    (stack / "lib" / "libiomp5.so").write_bytes(EXE)
    finding = by_start(tree.root)["libiomp5"]
    assert "libiomp5 cannot be used: " in finding.text and "skipped without it" in finding.text
    assert finding.do == "python3 bench.py run --library libiomp5=PATH, where you have it"


def test_before_the_first_run_the_wheels_of_requirements_are_not_missing(
    nothing, tree, monkeypatch
):
    monkeypatch.setattr(library_search, "in_stack", lambda: False)
    monkeypatch.setattr(library_search, "prefixes", lambda: ())
    findings = by_start(tree.root)
    assert "mkl" in findings and "mimalloc" not in findings
    assert findings["mkl"].do.startswith(f"{paths.PROJECT}/.asv/env/")
    assert findings["mkl"].do.endswith(", after the first run")
    coming = [
        f.text for f in optional_pieces.findings(tree.root) if "asv's environment brings" in f.text
    ]
    assert coming == [
        "optional pieces that asv's environment brings: libiomp5, openblas, onednn, mimalloc"
    ]


def test_where_a_wheel_is_for_other_machines_none_is_recommended(nothing, tree, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert "--library libiomp5=PATH" in by_start(tree.root)["libiomp5"].do
    assert "intel-openmp" not in at_once(tree.root, "wheels")


def test_what_is_there_is_in_one_line_with_its_folder(nothing, tree, monkeypatch, tmp_path):
    header = EXE[:16] + b"\3\0" + EXE[18:]
    tree.put({"/usr/lib64/libjemalloc.so.2": header})
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    compilers.python_header().touch()
    (first, *others) = optional_pieces.findings(tree.root)
    assert first.level == "ok"
    programs = "numactl, gcc, g++, clang++ in /usr/bin"
    assert f"jemalloc in {tree.root}/usr/lib64; {programs}" in first.text
    assert f"Python.h in {tmp_path}" in first.text
    assert not {"jemalloc", "g++", "Python.h"} & {f.text.split()[0] for f in others}


def test_a_given_path_that_is_bad_says_so(nothing, tree, monkeypatch):
    monkeypatch.setenv(library_search.VARIABLE, "jemalloc=/nowhere/x.so")
    (finding,) = (f for f in optional_pieces.findings(tree.root) if "/nowhere/x.so" in f.text)
    assert finding.level == "missing" and "No such file" in finding.text
