"""The `restore` verb: what a killed run and a killed watchdog left."""

import json
import os
import socket

import pytest
from made_cpufreq import everything, policy, server

from cputrain.commands import cli
from cputrain.machine.controls import journal
from cputrain.machine.controls.control import Files
from cputrain.machine.controls.cpufreq import Governor

FILE = policy(0, "scaling_governor")
ONLINE = "/sys/devices/system/cpu/cpu1/online"


@pytest.fixture
def left(tmp_path, own_root, monkeypatch):
    """A made server whose governor was left changed, and its journal."""
    kernel = server(tmp_path / "made")
    monkeypatch.setenv("CPUTRAIN_MACHINE_ROOT", str(kernel.root))
    original = {"governor": Governor(kernel).read()}
    root = str(kernel.root)
    kept = journal.Journal(journal.path(), "x", root, (1, 1), journal.boot(), original)
    kept.before = everything(kernel)
    kept.written.append(("governor", original["governor"]))
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


def test_what_another_machine_of_the_same_folder_has_changed_is_left(left, monkeypatch, capsys):
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    assert cli.main(["restore"]) == 0
    assert lines(capsys) == ["nothing to restore"]
    assert left.path.exists() and everything(Files(journal.Path(left.root))) != left.before


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
        lambda kept: json.dumps({**kept, "found": {"frequency": {FILE: "x"}}}),
        lambda kept: json.dumps({**kept, "found": {"turbo": {ONLINE: "0"}}}),
        lambda kept: json.dumps({**kept, "found": {"governor": {f"{FILE}\n": "x"}}}),
        lambda kept: json.dumps({**kept, "found": {"governor": {FILE: "\udc80"}}}),
        lambda kept: json.dumps({**kept, "found": {"governor": {FILE: "x\ny"}}}),
        lambda kept: json.dumps({**kept, "owner": [1e999, 1]}),
        lambda kept: "[" * 100_000,
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


def refused(capsys, left, named):
    """`restore` says one line, with these words, and leaves the tree and the journal alone."""
    made = Files(journal.Path(left.root))
    before = everything(made)
    assert cli.main(["restore"]) == 2
    (said,) = lines(capsys)
    assert str(left.path) in said and named in said
    assert everything(made) == before and left.path.exists()


@pytest.mark.parametrize("given", ["", "/nowhere"])
def test_where_is_written_is_never_the_journal_s_word(left, capsys, monkeypatch, given):
    monkeypatch.setenv("CPUTRAIN_MACHINE_ROOT", given)
    refused(capsys, left, f"and not below {given or '/'}")


def test_a_planted_link_below_another_root_does_not_lead_root_to_others_files(
    left, capsys, monkeypatch, tmp_path
):
    others = tmp_path / "passwd"
    others.write_text("root:x:0:0\n")
    file = Files(journal.Path(left.root)).path(FILE)
    file.unlink()
    file.symlink_to(others)
    monkeypatch.delenv("CPUTRAIN_MACHINE_ROOT")
    refused(capsys, left, "nothing is put back")
    assert others.read_text() == "root:x:0:0\n"


def test_a_journal_that_others_could_have_written_is_not_believed(left, capsys):
    for mode in (0o666, 0o664):
        left.path.chmod(mode)
        refused(capsys, left, "may be written by other users")
    left.path.chmod(0o644)
    kept = left.path.rename(left.path.with_name("elsewhere.json"))
    left.path.symlink_to(kept)
    refused(capsys, left, "cannot be read as a plain file")
    left.path.unlink()
    os.mkfifo(left.path, 0o600)
    refused(capsys, left, "is not a plain file")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_another_user_s_journal_is_not_believed(left, capsys):
    os.chown(left.path, 65534, 65534)
    refused(capsys, left, "belongs to user 65534")
