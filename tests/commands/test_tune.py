"""What `tune` refuses, each in one line with status 2, before anything is set up."""

import shlex

import pytest

from cputrain.commands import cli
from cputrain.sweep import driver

pytestmark = pytest.mark.tools


@pytest.mark.parametrize("budget", ["0", "-3", "soon", "inf", "nan"])
def test_a_budget_that_is_none(budget, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.parse(["tune", "--budget", budget])
    assert caught.value.code == 2
    assert "is not a number above 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--preset", "nothing"), "no preset 'nothing'; there are mlm-80m"),
        (("--n-head", "7"), "n_head = 7: n_embd = 256 does not divide by it"),
        (("--model", "nowhere.toml"), "nowhere.toml: cannot be read"),
        (("--cores", "4096"), "this machine cannot run it: "),
        (("--engine", "ipex"), "cannot run it: IPEX has an environment of its own, for suites"),
        (("--n-layer", "4000", "--n-embd", "4096"), "GiB of memory"),
        (
            ("--budget", "0.01"),
            "--budget 0.01: too short for a race and a test of this model",
        ),
        (("--preset", "wiki-24m", "--budget", "0.5"), "give it "),
        (("--allow", "optimizer=lion"), "--allow optimizer=lion: only precision can be allowed"),
        (("--allow", "precision=q4"), "to be mixed or bf16"),
        (("--keep", "engines"), "--keep engines: no such field; did you mean engine"),
        (("--objective", "forward"), "there is nothing to tune"),
    ],
)
def test_a_tuning_that_cannot_be(words, line, capsys):
    assert cli.main(["tune", *words]) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1


def tuning_of(monkeypatch, *words):
    drawn = []
    monkeypatch.setattr(driver, "drive", lambda tune, session: drawn.append(tune.tuning) or 0)
    assert cli.main(["tune", *words]) == 0
    return drawn[0]


def test_the_words_for_another_tuning_have_what_this_one_was_told(own_root, monkeypatch):
    model = ("--preset", "wiki-24m", "--n-layer", "2", "--no-tied")
    allow = ("--allow", "precision=mixed", "--allow", "precision=bf16")
    words = (*model, *allow, "--budget", "30", "--keep", "threads,huge-pages")
    tuning = tuning_of(monkeypatch, *words)
    again = tuning_of(monkeypatch, *shlex.split(tuning.again))
    for name in ("experiment", "allowed", "kept", "budget_s", "again"):
        assert getattr(again, name) == getattr(tuning, name)
    assert (tuning.allowed, tuning.kept) == (("mixed", "bf16"), ("threads", "huge_pages"))
    assert tuning_of(monkeypatch, "--n-layer", "2", "--budget", "10").again == "--n-layer 2"
