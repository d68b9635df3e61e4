"""The `restore` verb: what a killed run and a killed watchdog left."""

import json

import pytest
from made_cpufreq import everything, policy, server

from cputrain.commands import cli
from cputrain.machine.controls import journal
from cputrain.machine.controls.files import Files
from cputrain.machine.controls.governor import Governor

FILE = policy(0, "scaling_governor")


@pytest.fixture
def left(tmp_path, own_root):
    """A made server whose governor was left changed, and its journal."""
    kernel = server(tmp_path / "made")
    found = {"governor": Governor(kernel).read()}
    root = str(kernel.root)
    kept = journal.Journal(journal.path(), "x", root, (1, 1), journal.boot(), found)
    kept.before = everything(kernel)
    kept.written.append(("governor", found["governor"]))
    Governor(kernel, (0, 1)).write("performance")
    kept.save()
    return kept


def lines(capsys):
    shown = capsys.readouterr()
    return (shown.out + shown.err).splitlines()


def test_each_file_and_its_value_are_named(left, capsys):
    assert cli.main(["restore"]) == 0
    assert lines(capsys) == [
        f"put back: {policy(n, 'scaling_governor')} = schedutil" for n in (0, 1)
    ]
    assert everything(Files(journal.Path(left.root))) == left.before
    assert cli.main(["restore"]) == 0
    assert lines(capsys) == ["nothing to restore"]


def test_a_journal_of_another_boot_says_nothing_about_this_one(left, capsys):
    left.boot = "00000000-0000-0000-0000-000000000000"
    left.save()
    assert cli.main(["restore"]) == 0
    (said,) = lines(capsys)
    assert "was started again since" in said and not left.path.exists()
    assert Files(journal.Path(left.root)).read(FILE) == "performance"


def test_what_runs_is_not_put_back(left, capsys):
    left.owner = journal.me()
    left.save()
    assert cli.main(["restore"]) == 2
    (said,) = lines(capsys)
    assert f"process {left.owner[0]} is running" in said and left.path.exists()


def test_what_cannot_be_put_back_is_one_line(left, capsys):
    path = Files(journal.Path(left.root)).path(FILE)
    path.unlink()
    path.mkdir()
    assert cli.main(["restore"]) == 2
    (said,) = lines(capsys)
    assert FILE in said and "run as root" in said and left.path.exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: "",
        lambda kept: json.dumps(kept)[:200],
        lambda kept: "[]",
        lambda kept: json.dumps({**kept, "schema": 99}),
        lambda kept: json.dumps({**kept, "owner": []}),
        lambda kept: json.dumps({**kept, "found": {"governor": {FILE: 7}}}),
        lambda kept: json.dumps({**kept, "found": {"governor": {"/etc/passwd": "root"}}}),
        lambda kept: json.dumps({**kept, "written": [["governor", {FILE + "/../../x": "y"}]]}),
        lambda kept: json.dumps({**kept, "found": {"nonesuch": {FILE: "x"}}}),
        lambda kept: json.dumps(
            {**kept, "found": {"frequency": {policy(0, "scaling_min_freq"): "fast"}}}
        ),
    ],
)
def test_a_damaged_journal_is_one_line_and_nothing_is_written(left, capsys, damage):
    before = everything(Files(journal.Path(left.root)))
    left.path.write_text(damage(json.loads(left.path.read_text())))
    assert cli.main(["restore"]) == 2
    (said,) = lines(capsys)
    assert str(left.path) in said and "is damaged" in said
    assert everything(Files(journal.Path(left.root))) == before
