"""What `predict` takes and refuses; bad input is one line with status 2."""

import subprocess
import sys

import pytest

from cputrain.commands import cli, grid

pytestmark = pytest.mark.tools


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("100M", 100_000_000),
        ("2.5b", 2_500_000_000),
        ("1k", 1000),
        ("65536", 65_536),
        ("1T", 10**12),
    ],
)
def test_tokens_have_units(text, tokens):
    assert cli.parse(["predict", "--tokens", text]).tokens == tokens


@pytest.mark.parametrize("text", ["100 M", "-5", "M", "1e9", "0", "10G", "9999T"])
def test_what_is_no_number_of_tokens_is_refused(text, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.parse(["predict", f"--tokens={text}"])
    assert caught.value.code == 2
    assert "is not a number of tokens such as 100M" in capsys.readouterr().err


def test_a_grid_is_every_combination_in_order():
    wanted = grid.parse("n_layer=4,8 tied=on,off")
    assert list(grid.combinations(wanted)) == [
        (("4", "on"), {"n_layer": 4, "tied": True}),
        (("4", "off"), {"n_layer": 4, "tied": False}),
        (("8", "on"), {"n_layer": 8, "tied": True}),
        (("8", "off"), {"n_layer": 8, "tied": False}),
    ]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--preset", "nothing"), "no preset 'nothing'; there are mlm-80m"),
        (("--n-head", "7"), "n_head = 7: n_embd = 256 does not divide by it"),
        (("--engine", "numpy", "--architecture", "llama"), "engine = 'numpy' has gpt only"),
        (("--machine", "other"), "no records of a machine 'other'; there are: here"),
        (("--grid", "n_layer=2"), "add --tokens, such as --tokens 100M, or --steps"),
        (("--grid", "n_layer", "--steps", "9"), "'n_layer' is not a field with values"),
        (("--grid", "layers=2", "--steps", "9"), "no field 'layers'; did you mean n_layer"),
        (("--grid", "n_layer=two", "--steps", "9"), "a whole number is needed"),
        (("--grid", "n_layer=2 n_layer=3", "--steps", "9"), "n_layer is there twice"),
        ((), "no peak and no bandwidth of this machine were measured yet; python3 bench.py run"),
    ],
)
def test_what_cannot_be_predicted(words, line, own_root, capsys):
    (own_root / "output" / "here").mkdir(parents=True)
    machine = () if "--machine" in words else ("--machine", "here")
    assert cli.main(["predict", *machine, *words]) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1


def test_what_is_known_already_is_told_without_what_takes_long_to_import():
    code = """import sys
from cputrain.commands import predict
print({"asv", "numpy", "polars", "scipy"} & {*sys.modules})"""
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert seen.stdout == "set()\n", seen.stderr
