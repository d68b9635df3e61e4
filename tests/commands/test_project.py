"""What `project` refuses, each in one line with status 2, before anything is set up."""

import pytest

from cputrain.commands import cli

pytestmark = pytest.mark.tools


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--steps", "0"), "'0' is not a whole number from 1"),
        (("--steps", "9" * 12), "is not a whole number from 1 to 1000000000"),
        (("--steps", "10", "--start", "25:00"), "'25:00' is not a time of day"),
        (("--steps", "10", "--minutes", "-1"), "above 0"),
        ((), "--steps"),
    ],
)
def test_flags_that_cannot_be(words, line, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.parse(["project", *words])
    assert caught.value.code == 2
    assert line in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--resume-from", "100"), "of 100 steps none is left"),
        (("--preset", "nothing"), "no preset 'nothing'"),
        (("--n-head", "7"), "n_head = 7: n_embd = 256 does not divide by it"),
        (("--model", "nowhere.toml"), "nowhere.toml: cannot be read"),
        (("--cores", "4096"), "this machine cannot run it: "),
        (("--engine", "ipex"), "cannot run it: IPEX has an environment of its own, for suites"),
    ],
)
def test_a_run_that_cannot_be(words, line, capsys):
    assert cli.main(["project", "--steps", "100", *words]) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1
