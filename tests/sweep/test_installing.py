"""Packages are compiled beside pip; what installs them ends with its caller, also a killed one."""

import contextlib
import os
import subprocess
import sys
import time
import zipfile

import psutil
import pytest
import virtualenv

from cputrain import paths
from cputrain.sweep import installing

pytestmark = pytest.mark.tools

CALLER = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"
SWEEP = paths.PROJECT / "cputrain" / "sweep"


def ends_with_its_caller(python, words, runs):
    """Whether all processes that the words start end soon after their caller.

    The caller is killed once `runs` says so of the commands of those processes.
    """
    caller = psutil.Popen([python, "-c", CALLER, *map(str, words)])
    end = time.monotonic() + 30
    while not runs(started := caller.children(recursive=True)):
        assert caller.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    caller.kill()
    caller.wait()
    _, alive = psutil.wait_procs(started, timeout=5)
    for process in alive:
        process.kill()
    return alive == []


def is_pip(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return "pip" in process.cmdline()


def wheel(folder, name, files):
    """A package as pip takes it, with files by their names."""
    path = folder / f"{name}-1-py3-none-any.whl"
    info = f"{name}-1.dist-info"
    about = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{each},,\n" for each in [*files, *about, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in {**files, **about, f"{info}/RECORD": record}.items():
            archive.writestr(each, text)
    return path


@pytest.fixture
def environment(tmp_path):
    """An environment with pip alone: its interpreter, and its folder of packages."""
    folder = tmp_path / "tests" / "environment"  # a folder of tests, of which packages know nothing
    virtualenv.cli_run([str(folder), "--no-download"])
    (packages,) = folder.glob("lib/python*/site-packages")
    return folder / "bin" / "python", packages


def test_pip_ends_with_the_caller(environment, tmp_path):
    requirements = tmp_path / "requirements.txt"
    os.mkfifo(requirements)  # which pip waits for
    words = [SWEEP / "installing.py", "-r", requirements]
    assert ends_with_its_caller(environment[0], words, lambda started: any(map(is_pip, started)))


def test_the_pool_that_compiles_ends_with_the_caller(environment, tmp_path):
    python, packages = environment
    for number in range(60):
        (packages / f"long_{number}.py").write_text("x = 1 + 2 + x\n" * 50_000)
    words = [SWEEP / "installing.py", "-q", wheel(tmp_path, "short", {"short.py": "x = 1\n"})]

    def runs(started):  # two of the pool, of which there is one a CPU
        return len(started) > 2 and not any(map(is_pip, started))

    assert ends_with_its_caller(python, words, runs)


def test_packages_are_compiled_but_for_tests_and_what_is_for_other_pythons(environment, tmp_path):
    python, packages = environment
    files = {
        "code/__init__.py": "x = 1\n",
        "code/tests/test_code.py": "x = 1\n",
        "code/other.py": "match this: that\n",
    }
    package = wheel(tmp_path, "code", files)
    install = [python, SWEEP / "installing.py", "-q", package]
    assert subprocess.run(install).returncode == 0
    (made,) = (packages / "code").rglob("*.pyc")
    assert made.name.startswith("__init__.")
    made.unlink()
    assert subprocess.run(install).returncode == 0  # pip has nothing to do
    assert made.exists()


def test_a_package_is_compiled_while_pip_goes_on(tmp_path):
    """Of two packages that a process of pip's has written, and of one that was there before."""
    for name in ("before", "first", "second"):
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "RECORD").write_text(f"{name}.py,sha256=x,1\n{name}/tests/a.py,,\n{name}.so,,\n")
    old = tmp_path / "before-1.dist-info" / "INSTALLER"
    old.touch()
    with subprocess.Popen(["sleep", "60"]) as process:
        going_on = installing.while_running(process, tmp_path, {old})
        (tmp_path / "first-1.dist-info" / "INSTALLER").touch()
        assert next(going_on) == tmp_path / "first.py"
        (tmp_path / "second-1.dist-info" / "INSTALLER").touch()
        assert next(going_on) == tmp_path / "second.py"
        process.kill()
    assert list(going_on) == []


def test_a_package_that_pip_has_taken_back_has_no_files(tmp_path):
    assert installing.python_files(tmp_path, tmp_path / "gone-1.dist-info" / "RECORD") == []


def test_pip_s_failure_is_given_back():
    words = [sys.executable, SWEEP / "installing.py", "--no-such-flag"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2 and "no such option" in done.stderr
