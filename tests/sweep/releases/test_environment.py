"""Environments beside the main one: their configuration, and what is said when none can be."""

import json
from pathlib import Path

import pytest
from asv.util import interpolate_command

from cputrain import environ, paths
from cputrain.errors import RunError, UsageError
from cputrain.sweep import asvenv
from cputrain.sweep.releases import environment, requirements
from cputrain.sweep.releases.packages import Packages

pytestmark = pytest.mark.tools

LOG = Path("/somewhere/build.log")
NOT_THERE = (
    "ERROR: Could not find a version that satisfies the requirement numpy==9.9.9 "
    "(from versions: 2.4.4, 2.4.5, 2.4.6)"
)
NO_NETWORK = (
    "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError': /simple/\n"
    "ERROR: Could not find a version that satisfies the requirement numpy==2.4.5 "
    "(from versions: none)"
)
CONFLICT = (
    "ERROR: Cannot install jax==0.10.1 and jaxlib==0.9 because these package versions have "
    "conflicting dependencies."
)
CAUSES = (
    "   The conflict is caused by:\n       The user requested setuptools==84.2.1\n"
    "       torch 2.12.1 depends on setuptools<82\n   \n   To fix this\n"
)


@pytest.mark.parametrize(
    ("said", "offline", "named"),
    [
        (NOT_THERE, False, "pip finds no numpy==9.9.9 .* there are 2.4.4, 2.4.5, 2.4.6"),
        (NO_NETWORK, False, "index cannot be reached"),
        (NOT_THERE, True, "without --offline"),
        (CONFLICT, False, "do not go together: Cannot install jax==0.10.1"),
        (CAUSES + CONFLICT, False, "setuptools==84.2.1; torch 2.12.1 depends on setuptools<82$"),
        ("a line\nsome Error here\nthe end", False, "some Error here"),
        ("", False, "no output"),
    ],
)
def test_a_build_that_failed_is_one_line_that_says_why(said, offline, named):
    with pytest.raises(RunError, match=named) as caught:
        raise RunError(environment.why_not_built("numpy==9.9.9", said, LOG, offline))
    assert "\n" not in str(caught.value)


def test_asv_installs_a_release_from_a_folder_with_a_space(own_root, monkeypatch):
    project = own_root / "my bench"
    project.mkdir()
    for name in ("asv.conf.json", "requirements.txt"):
        (project / name).write_text((paths.PROJECT / name).read_text())
    for module in (paths, asvenv):
        monkeypatch.setattr(module, "PROJECT", project)
    monkeypatch.setattr(environment, "folder", lambda: project / "releases")
    text = (project / "requirements.txt").read_text()
    settings = json.loads(environment.Release("here", text).config.read_text())
    known = {"build_dir": "/build it", "commit": "c"}
    pip, own = (interpolate_command(each, known)[0] for each in settings["install_command"])
    assert requirements.pins(Path(pip[-1]).read_text()) == requirements.pins(text)
    code = project / "cputrain" / "sweep" / "installed_code.py"
    assert own == ["python", str(code), str(project), "/build it", "c"]


def test_each_set_of_requirements_has_an_environment_of_its_own(own_root):
    text = (paths.PROJECT / "requirements.txt").read_text()
    other = requirements.replaced(text, {"numpy": "2.4.5"})
    first, same, commented = (
        environment.Release("here", each) for each in (other, other, f"{other}# more\n")
    )
    different = environment.Release("here", requirements.replaced(text, {"numpy": "2.4.4"}))
    assert first.name == same.name == commented.name != different.name
    assert first.python() == same.python() != different.python()
    assert first.place.parent == paths.PROJECT / ".asv" / "env"
    settings = json.loads(first.config.read_text())
    assert settings["matrix"]["env"] == {environ.RELEASE: [first.name]}
    (install, own) = settings["install_command"]
    assert requirements.pins(Path(install.split()[-1]).read_text())["numpy"] == "2.4.5"
    assert own.endswith(f"{paths.PROJECT} {{build_dir}} {{commit}}")
    assert "requirements.txt" not in " ".join(settings["install_command"])


def test_an_environment_without_the_asked_versions_is_an_error():
    installed = {"numpy": "2.4.6", "torch": "2.13.0+cpu"}
    environment.require("here", {"numpy": "2.4.6", "torch": "2.13.0"}, installed, Path("/e"))
    with pytest.raises(UsageError, match=r"numpy is 2.4.6 in /e, and 2.4.5 was asked"):
        environment.require("x", {"numpy": "2.4.5"}, installed, Path("/e"))
    with pytest.raises(UsageError, match="jax is none in"):
        environment.require("x", {"jax": "0.10.1"}, installed, Path("/e"))


def test_the_main_environment_is_used_where_its_pins_are_the_asked_ones(own_root):
    pins = requirements.pins((paths.PROJECT / "requirements.txt").read_text())
    source = Packages([f"torch=={pins['torch']}", "here numpy==2.4.5"])
    main = asvenv.Asv("full", "here")
    usual, other = (source._asv(main, versions) for versions in source.versions)
    assert usual is main and other.python() != main.python()
    again = Packages(["here", f"torch=={pins['torch']} numpy==2.4.5"])
    assert again._asv(main, again.versions[1]).python() == other.python()
