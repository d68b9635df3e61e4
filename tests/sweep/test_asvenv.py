"""asv's configuration for runs that are not filed under the project's own results."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from asv.util import interpolate_command

from cputrain import environ, paths
from cputrain.errors import RunError
from cputrain.machine import lock
from cputrain.sweep import asvenv

pytestmark = pytest.mark.tools


@pytest.mark.parametrize("name", ["plain", "with space", "it's {here}", "bänke"])
def test_asv_installs_a_quick_run_s_code_from_a_folder_of_any_name(tmp_path, monkeypatch, name):
    project = tmp_path / name
    project.mkdir()
    (project / "asv.conf.json").write_text((paths.PROJECT / "asv.conf.json").read_text())
    monkeypatch.setattr(asvenv, "PROJECT", project)
    monkeypatch.setattr(paths, "STATE", project / ".asv")
    settings = json.loads(asvenv.config("quick").read_text())
    *_, last = settings["install_command"]
    words, *_ = interpolate_command(last, {"build_dir": "/build it", "commit": "c"})
    code = project / "cputrain" / "sweep" / "installed_code.py"
    assert words == ["python", str(code), str(project), "/build it", "c"]


def test_a_build_that_was_killed_is_no_matter_of_the_network(own_root, monkeypatch):
    asv = asvenv.Asv("full", "here")
    process = subprocess.Popen(["sleep", "60"])
    monkeypatch.setattr(asv, "start", lambda *_: process)
    process.kill()
    with pytest.raises(RunError, match=r"^asv was killed by SIGKILL in build; the same command"):
        asv.build(offline=True)


def test_an_environment_stands_once_a_commit_is_installed_in_it(tmp_path, monkeypatch, own_root):
    python = tmp_path / "env" / "bin" / "python"
    monkeypatch.setattr(asvenv.Asv, "python", lambda _: python)
    asv = asvenv.Asv("full", "here")
    python.parent.mkdir(parents=True)
    assert not asv.stands()
    status = tmp_path / "env" / "asv-install-status.json"
    for text in ("", '{"commit_hash', '{"commit_hash": null}'):  # new, killed, going on
        status.write_text(text)
        assert not asv.stands() and not asv.is_built("abc")
    status.write_text('{"commit_hash": "abc"}')
    assert asv.stands() and not asv.is_built("abc")
    (tmp_path / "env" / "asv-env-info.json").touch()
    assert asv.is_built("abc") and not asv.is_built("abcd")


def test_an_early_build_is_waited_for_once(tmp_path, monkeypatch):
    done = tmp_path / "done"
    child = subprocess.Popen(["sh", "-c", f"sleep 0.3; touch {done}"])
    monkeypatch.setenv(environ.EARLY_BUILD, str(child.pid))
    asvenv.wait_for_early_build()
    assert done.exists() and environ.EARLY_BUILD not in os.environ
    monkeypatch.setenv(environ.EARLY_BUILD, str(child.pid))  # nobody's child any more
    asvenv.wait_for_early_build()


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A repository with our code whose stack is setuptools alone, and a lock of its own."""
    project = tmp_path / "small"
    project.mkdir()
    for name in ("cputrain", "benchmarks"):
        shutil.copytree(paths.PROJECT / name, project / name)
    for name in ("asv.conf.json", "pyproject.toml"):
        shutil.copy(paths.PROJECT / name, project)
    (project / "requirements.txt").write_text("setuptools>=77\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        name = ("-c", "user.name=x", "-c", "user.email=x@y.z", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *name, *words], cwd=project, check=True)
    monkeypatch.delenv(environ.ROOT, raising=False)
    monkeypatch.setenv(environ.LOCK, str(tmp_path / "lock"))
    return project


@pytest.mark.parametrize("measures", [False, True], ids=["free", "measured"])
def test_an_early_build_installs_the_commit_unless_the_machine_is_measured(small, measures):
    held = lock.hold() if measures else None
    words = [sys.executable, "-m", "cputrain.sweep.early_build"]
    status = subprocess.run(words, cwd=small).returncode
    if held is not None:
        held.close()
    assert status == 0
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=small, capture_output=True, text=True)
    show = "from cputrain.sweep.asvenv import Asv; print(Asv('full', 'here')"
    asked = f"{show}.is_built({head.stdout.strip()!r}))"
    told = subprocess.run([sys.executable, "-c", asked], cwd=small, capture_output=True, text=True)
    assert told.stdout == f"{not measures}\n"
