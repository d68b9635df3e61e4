"""bench.py's own checks: what a folder, a Python or a git that cannot do is told."""

import ast
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cputrain import paths
from cputrain.commands.parser import parse

pytestmark = pytest.mark.tools


@pytest.fixture
def copy(tmp_path):
    """The project's files without their repository, as a zip gives them."""
    for name in ("cputrain", "benchmarks"):
        shutil.copytree(paths.PROJECT / name, tmp_path / "zip" / name)
    for name in ("bench.py", "pyproject.toml", "asv.conf.json", "requirements.txt"):
        shutil.copy(paths.PROJECT / name, tmp_path / "zip")
    return tmp_path / "zip"


def bench(folder, *words, **env):
    done = subprocess.run(
        [sys.executable, "bench.py", *words],
        cwd=folder,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent), **env},
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = done.stderr.strip().split("\n")
    return done.returncode, lines


def git(folder, *words):
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def commit(folder):
    git(folder, "init")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-m", "start")


def test_a_zip_without_git_is_told_what_to_do(copy):
    status, lines = bench(copy)
    assert status == 1 and len(lines) == 1
    assert "not a git repository; do: git init" in lines[0]


def test_a_repository_without_a_commit_is_told_what_to_do(copy):
    git(copy, "init")
    status, lines = bench(copy)
    assert status == 1 and len(lines) == 1
    assert "no commit yet; do: git add" in lines[0]


def test_without_git_it_says_so(copy, tmp_path):
    (tmp_path / "bin").mkdir()
    status, lines = bench(copy, PATH=str(tmp_path / "bin"))
    assert status == 1 and lines == [
        "bench.py: git is needed and not installed; on Debian: apt install git"
    ]


def test_packages_elsewhere_are_not_taken_for_installed(copy, tmp_path):
    """With a PYTHONPATH that had them, tools were missing as soon as it was not set any more."""
    elsewhere = tmp_path / "elsewhere" / "packaging-26.0.dist-info"
    elsewhere.mkdir(parents=True)
    (elsewhere / "METADATA").write_text("Metadata-Version: 2.1\nName: packaging\nVersion: 26.0\n")
    (elsewhere / "INSTALLER").write_text("pip\n")
    only(copy, tools="packaging")
    commit(copy)
    bench(copy, "list", PYTHONPATH=str(elsewhere.parent))
    assert list(copy.glob("venv/lib/*/site-packages/packaging/__init__.py"))


def test_without_a_network_it_says_so_and_the_next_start_tries_again(copy):
    commit(copy)
    nowhere = {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "0",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }
    for _ in range(2):
        status, lines = bench(copy, "list", **nowhere)
        assert status == 1 and len(lines) == 1, lines
        assert "cannot install the tools; is the network there?" in lines[0]


@pytest.fixture
def nobody_answers():
    """An index that takes connections and says nothing: pip waits for it."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(8)
        yield f"http://127.0.0.1:{server.getsockname()[1]}/simple"


@pytest.mark.parametrize(
    ("number", "what"), [(signal.SIGINT, "ensurepip"), (signal.SIGTERM, "install")]
)
def test_stopped_in_its_set_up_it_says_so_and_leaves_nothing_running(
    copy, nobody_answers, number, what
):
    process = begun(copy, nobody_answers, what)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert running(copy / "venv") == []
    assert (process.returncode, said) == (128 + number, "bench.py: stopped\n")


def test_killed_in_its_set_up_it_leaves_nothing_running(copy, nobody_answers):
    process = begun(copy, nobody_answers, "install")
    process.kill()
    process.communicate(timeout=60)
    assert gone(copy / "venv")


def begun(copy, index, what):
    """bench.py whose set-up has come to `what`, with an index that does not answer."""
    commit(copy)
    nowhere = {"PIP_FIND_LINKS": "", "PIP_NO_CACHE_DIR": "1", "PIP_CONFIG_FILE": os.devnull}
    return started(copy, "list", what, PIP_INDEX_URL=index, PIP_EXTRA_INDEX_URL="", **nowhere)


def started(copy, verb, what, **env):
    """bench.py whose set-up has come to a process with a word that contains `what`."""
    process = subprocess.Popen(
        [sys.executable, "bench.py", verb],
        cwd=copy,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 120
    while not any(what in word for words in running(copy / "venv") for word in words):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    return process


def gone(venv):
    """Whether what runs in `venv` ends soon."""
    end = time.monotonic() + 10
    while running(venv) and time.monotonic() < end:
        time.sleep(0.05)
    return running(venv) == []


def running(venv):
    """The words of every process whose interpreter is in `venv`."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # ended meanwhile
        if words[0].startswith(str(venv)):
            commands.append(words)
    return commands


@pytest.fixture
def early(copy):
    """A copy where the early build writes a file and sleeps, and one package is to build it."""
    build = copy / "cputrain" / "sweep" / "early_build.py"
    build.write_text(
        "import pathlib, sys, time\n"
        "pathlib.Path('began').write_text(' '.join(sys.argv[1:]))\n"
        "time.sleep(600)\n"
    )
    only(copy, builder="packaging", tools="cputrain[builder]")
    return copy


def only(copy, **extras):
    """Have extras of the copy ask for one package each."""
    project = copy / "pyproject.toml"
    text = project.read_text()
    for extra, package in extras.items():
        text, times = re.subn(rf"(?ms)^{extra} = \[.*?^\]", f'{extra} = ["{package}"]', text)
        assert times == 1
    project.write_text(text)


def test_verbs_that_read_and_write_files_need_no_environment():
    assert parse([]).builds and parse(["--quick"]).builds and parse(["tune"]).builds
    assert not parse(["list"]).builds and not parse(["predict", "--preset", "llm-25m"]).builds


def test_asv_s_environment_is_begun_for_a_verb_that_needs_it_and_ends_with_it(early):
    """The verb itself fails here, for want of its tools."""
    commit(early)
    bench(early, "run", "--offline")
    assert (early / "began").read_text() == "--offline"
    assert gone(early / "venv")


def test_stopped_while_asv_s_environment_is_built_nothing_is_left(early, nobody_answers):
    only(early, tools=f"never @ {nobody_answers}/never-1-py3-none-any.whl")
    commit(early)
    process = started(early, "run", "[tools]")
    while not (early / "began").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert running(early / "venv") == []
    assert (process.returncode, said) == (130, "bench.py: stopped\n")


def test_a_second_start_says_that_it_waits(copy):
    only(copy, tools="packaging")
    commit(copy)
    (copy / ".asv").mkdir()
    with (copy / ".asv" / "set-up.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = [sys.executable, "bench.py", "list"]
        second = subprocess.Popen(words, cwd=copy, stdout=subprocess.PIPE, text=True)
        line = second.stdout.readline()
    assert "waiting for the set-up" in line
    assert "setting up venv/" in second.communicate(timeout=120)[0]


def test_bad_usage_ends_before_anything_is_installed(copy):
    status, lines = bench(copy, "run", "--passes", "0")
    assert status == 2 and "whole number from 1 to 100" in lines[-1]
    assert not (copy / "venv").exists()


def test_a_folder_that_cannot_be_written_is_named(copy):
    git(copy, "init")
    git(copy, "add", "-A")
    git(copy, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-m", "start")
    (copy / ".asv").write_text("a file where a folder belongs")
    status, lines = bench(copy, "list")
    assert status == 2 and len(lines) == 1 and str(copy) in lines[0]


def test_an_old_python_gets_as_far_as_saying_so():
    """Python 3.6 can read the file, and the check comes before any import of ours."""
    text = (paths.PROJECT / "bench.py").read_text()
    ast.parse(text, feature_version=(3, 6))
    assert text.index("sys.version_info < (3, 11)") < text.index("from cputrain")


def test_an_environment_that_a_link_leads_to_is_not_emptied(copy, tmp_path):
    commit(copy)
    python = tmp_path / "theirs" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    (copy / "venv").symlink_to(tmp_path / "theirs")
    status, (line,) = bench(copy, "list")
    assert status == 1 and "a symbolic link to an environment that is not ours" in line
    assert python.exists()
