"""asv called by hand: the machine's name, whole files, less that does not replace what is full."""

import json
import os
import platform
import subprocess
import sys

import pytest
from asv import util
from asv.commands import make_argparser

from cputrain import environ, paths
from cputrain.machine import registry
from cputrain.sweep import plugin

pytestmark = pytest.mark.tools


@pytest.fixture
def asv(tmp_path):
    """Call asv as a user does who has a home of their own; its status and what it said."""
    home = tmp_path / "home"
    home.mkdir()
    copy = json.loads((paths.PROJECT / "asv.conf.json").read_text())
    copy |= {"results_dir": str(tmp_path / "results"), "repo": str(paths.PROJECT)}
    copy |= {"env_dir": str(tmp_path / "env"), "benchmark_dir": str(tmp_path / "none")}
    config = tmp_path / "asv.conf.json"
    config.write_text(json.dumps(copy))

    # Other tests of this process may have entered a session.
    own = {name: its for name, its in os.environ.items() if not name.startswith("CPUTRAIN_")}

    def call(*words, **env):
        done = subprocess.run(
            [sys.executable, "-m", "asv", "--config", str(config), *words],
            env=own | {"HOME": str(home), "PYTHONPATH": str(paths.PROJECT)} | env,
            capture_output=True,
            text=True,
        )
        file = home / ".asv-machine.json"
        return done.returncode, done.stdout + done.stderr, file

    return call


@pytest.mark.parametrize(
    ("words", "replaces"),
    [
        ("run --quick", "--quick"),
        ("run -a repeat=1", "--attribute repeat"),
        ("run --attribute rounds=2", "--attribute rounds"),
        ("continuous --quick HEAD", "--quick"),
        ("run --quick --dry-run", None),
        ("run --quick --python=same", None),
        ("run --quick --python=same --set-commit-hash HEAD", "--quick"),
        ("run -E existing:same -a repeat=1", None),
        ("run --quick -E existing -E virtualenv", "--quick"),
        ("profile x.time", None),
        ("run -a warmup_time=0", None),
        ("run --bench SeqLen", None),
    ],
)
def test_what_takes_less_and_saves_it(words, replaces):
    parser, _ = make_argparser()
    assert plugin.would_replace(parser.parse_args(words.split())) == replaces


@pytest.mark.parametrize(
    ("words", "its_own", "existing"),
    [
        ("run", True, False),
        ("run --set-commit-hash HEAD", True, True),
        ("run --dry-run --set-commit-hash HEAD", False, False),
        ("continuous HEAD", True, False),
        ("find A..B x.time", True, False),
        ("find --skip-save A..B x.time", False, False),
        ("profile x.time", False, False),
    ],
)
def test_what_asv_saves(words, its_own, existing):
    """As `skip_save` in asv's own run.py and find.py has it, for each kind of environment."""
    parser, _ = make_argparser()
    assert plugin.saves(parser.parse_args(words.split())) == (its_own, existing)


@pytest.mark.parametrize(
    ("words", "is_said"),
    [("run --dry-run", True), ("profile x.time", True), ("run", False)],
)
def test_where_records_are_that_no_table_has_is_said(asv, words, is_said):
    _, said, _ = asv(*words.split())
    assert (plugin.UNSAVED in said) == is_said


def test_it_is_refused_in_one_line(asv):
    status, said, file = asv("run", "--quick")
    assert status == 1 and not file.exists() and "Traceback" not in said
    assert "would replace what was measured in full: add --dry-run" in said


def test_asv_on_a_machine_that_never_saw_bench_py_uses_its_name(asv):
    _, said, file = asv("run")
    entry = json.loads(file.read_text())[platform.node()]
    assert entry["machine"] == registry.name_here(registry=file).name
    assert "I will now ask you some questions" not in said


def test_a_given_machine_is_left_to_the_user(asv):
    _, _, file = asv("run", "--machine", "mine")
    assert not file.exists() or platform.node() not in json.loads(file.read_text())


def test_commands_that_measure_nothing_and_bench_py_itself_are_left_alone(asv):
    _, _, file = asv("publish")
    assert not file.exists()
    _, said, _ = asv("continuous", "--quick", "HEAD", **{environ.SESSION: "s"})
    assert "would replace" not in said and not file.exists()


def test_a_file_that_asv_cannot_write_to_its_end_stays_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(util, "write_json", util.write_json)
    plugin.write_whole_files()
    path = tmp_path / "asv-env-info.json"
    util.write_json(str(path), {"python": "3.11"})
    with pytest.raises(TypeError):
        util.write_json(str(path), {"python": "3.12", "requirements": object()})
    assert json.loads(path.read_text()) == {"python": "3.11"}
    assert list(tmp_path.iterdir()) == [path]
