import subprocess
import sys
from pathlib import Path

import pytest

from cputrain.commands import cli

pytestmark = pytest.mark.tools


@pytest.mark.parametrize(
    ("words", "verb"),
    [([], "run"), (["--quick"], "run"), (["run", "--passes", "3"], "run"), (["list"], "list")],
)
def test_run_is_the_verb_where_none_is_given(words, verb):
    assert cli.parse(words).verb == verb


def test_without_a_home_it_is_said_what_to_set(monkeypatch, capsys):
    """As of a user that a container's system has no entry of."""

    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert cli.main(["list"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "set HOME" in line


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--passes", "0"], "from 1 to 100"),
        (["--passes", "two"], "'two'"),
        (["--budget", "-5"], "above 0"),
        (["--budget", "nan"], "above 0"),
        (["--bench", "("], "not a regular expression"),
        (["--model-cap", "inf"], "above 0"),
        (["engines", "--seed", "x"], "'x'"),
        (["tran", "--steps", "3"], "did you mean train?"),
        (["frobnicate"], "there are run, list, export"),
        (["SeqLen"], "run --bench SeqLen"),
        (["Train"], "did you mean train?"),
        (["list", "--quick"], "it is for run, engines, fleet"),
        (["train", "--nlayer", "3"], "did you mean --n-layer?"),
        (["train", "--zzz=3"], "there is no --zzz here"),
        (["list", "all"], "there is no all here"),
        (["sample", "night"], "required: TEXT"),
    ],
)
def test_bad_usage_is_status_2_and_one_line_that_names_what_is_wrong(words, named, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.parse(words)
    assert caught.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert named in line and "--help has more" in line


def test_files_of_several_flags_are_all_trained_on():
    words = ["train", "--steps", "3", "--data", "a", "b", "--data", "c"]
    assert [str(path) for path in cli.parse(words).data] == ["a", "b", "c"]
    assert cli.parse(words[:3]).data == []


def test_help_names_every_verb(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.parse(["--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert all(
        v in shown
        for v in ("run", "list", "export", "engines", "machine", "doctor", "restore", "test")
    )


HEAVY = """
import pkgutil, sys
before = set(sys.modules)
sys.path.insert(0, ".")
import benchmarks
for info in pkgutil.iter_modules(benchmarks.__path__):
    __import__("benchmarks." + info.name)
import cputrain.commands.cli
new = {name.split(".")[0] for name in set(sys.modules) - before}
ours = {"cputrain", "benchmarks"}
light = {"msgspec", "typing_extensions"}  # the latter by the former, where it is installed
print(*sorted(new - set(sys.stdlib_module_names) - ours - light))
"""


def test_discovery_imports_the_standard_library_msgspec_and_us_only():
    """asv imports benchmarks/ in a fresh interpreter for every cell: torch there costs seconds."""
    done = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
