"""What `predict` takes and refuses; bad input is one line with status 2."""

import json
import subprocess
import sys

import pytest

from cputrain import paths
from cputrain.commands import cli, grid, predict
from cputrain.report import costs

pytestmark = pytest.mark.tools


@pytest.fixture
def measured(own_root, monkeypatch):
    """A made machine whose costs are known, called `here`."""
    monkeypatch.syspath_prepend("tests/analysis/cost")
    import made_costs

    (own_root / "output" / "here").mkdir(parents=True)
    made = made_costs.costs()
    monkeypatch.setattr(predict.known_costs, "needed", lambda root, machine: made)


def predicted(*words):
    return cli.main(["predict", "--machine", "here", "--tokens", "1M", *words])


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
        (
            ("--grid", "n_layer=2,3", "--n-layer", "3", "--steps", "9"),
            "n_layer is given twice: --n-layer and --grid; leave one of them out",
        ),
        (
            ("--grid", "tied=on,off n_embd=64", "--no-tied", "--steps", "9"),
            "tied is given twice: --tied and --grid",
        ),
        (("--grid", "n_layer=2,3", "--preset", "mine", "--steps", "9"), "no preset 'mine'"),
        (("--n-layer", "99999"), "n_layer = 99999: a whole number of at most 10000 is needed"),
        (("--batch-size", "9" * 400), "9: a whole number of at most 10000000 is needed"),
        ((), "no peak and no bandwidth of this machine were measured yet; python3 bench.py run"),
    ],
)
def test_what_cannot_be_predicted(words, line, own_root, capsys):
    (own_root / "output" / "here").mkdir(parents=True)
    machine = () if "--machine" in words else ("--machine", "here")
    assert cli.main(["predict", *machine, *words]) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1


def test_a_combination_that_cannot_be_says_why_in_its_line_and_the_others_are_predicted(
    measured, capsys
):
    assert predicted("--grid", "attention=full,local,sliding", "--window", "64") == 0
    _, full, local, sliding = capsys.readouterr().out.splitlines()
    assert full.split(None, 1) == ["full", "window = 64: attention = 'full' has no window"]
    assert " ms " in local and " ms " in sliding


@pytest.mark.parametrize(
    "words",
    [("--grid", "n_layer=2,4", "--n-head", "7"), ("--grid", "n_head=7", "--steps", "9")],
)
def test_a_grid_is_refused_as_a_whole_where_all_of_it_cannot_be_for_one_reason(
    words, own_root, capsys
):
    """Also on a machine of which nothing is known yet."""
    (own_root / "output" / "here").mkdir(parents=True)
    length = () if "--steps" in words else ("--tokens", "1M")
    assert cli.main(["predict", "--machine", "here", *length, *words]) == 2
    said = capsys.readouterr()
    assert said.err == "bench.py: n_head = 7: n_embd = 256 does not divide by it\n"
    assert not said.out


def test_a_grid_that_cannot_be_for_several_reasons_is_shown_with_them(measured, capsys):
    assert predicted("--grid", "n_embd=255,257") == 2
    said = capsys.readouterr()
    assert [f"n_embd = {n} does not divide by it" in said.out for n in (255, 257)] == [True, True]
    assert said.err == "bench.py: --grid: none of these can be predicted; each line says why\n"


def test_a_grid_reads_a_file_once_as_of_a_pipe_there_is_no_more(measured, monkeypatch):
    read = []
    monkeypatch.setattr(predict, "of_file", lambda path: read.append(path) or {"n_layer": 3})
    assert predicted("--model", "mine.toml", "--grid", "n_embd=64,128") == 0
    assert list(map(str, read)) == ["mine.toml"]


@pytest.mark.parametrize("exported", [False, True])
def test_a_damaged_file_of_rates_is_named_with_what_to_do(exported, own_root, capsys):
    (own_root / "output" / "here").mkdir(parents=True)
    file = own_root / "result" / "here" / "machine.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    if exported:  # then it is kept that nothing is known of its costs
        assert costs.of(own_root, "here") is None
    assert cli.main(["predict", "--machine", "here"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"bench.py: {file}: ") and error.endswith("delete it and run again\n")


def test_the_example_is_known_by_two_names_and_nothing_is_written_into_it(own_root, capsys):
    shipped = paths.PROJECT / "example"
    name = json.loads((shipped / "example.json").read_text())["machine"]
    before = sorted(shipped.rglob("*"))
    for machine in ("example", name):
        assert cli.main(["predict", "--machine", machine, "--tokens", "1M"]) == 0
        assert f"by the records of {name}: " in capsys.readouterr().out
    assert [path.name for path in (own_root / ".asv" / "costs").iterdir()] == ["example.json"]
    assert sorted(shipped.rglob("*")) == before
    assert cli.main(["predict", "--machine", "other"]) == 2
    assert f"there are: {name}, example" in capsys.readouterr().err


def test_what_is_known_already_is_told_without_what_takes_long_to_import():
    code = """import sys
from cputrain.commands import predict
print({"asv", "numpy", "polars", "scipy"} & {*sys.modules})"""
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert seen.stdout == "set()\n", seen.stderr
