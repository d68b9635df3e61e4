"""asv's configuration for runs that are not filed under the project's own results."""

import json
import subprocess

import pytest
from asv.util import interpolate_command

from cputrain import paths
from cputrain.errors import RunError
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
