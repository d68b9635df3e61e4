"""What somebody who means harm could send: nothing of it leaves its place, is run, or is obeyed."""

import gzip
import io
import os
import re
import tarfile

import pytest
from made_packs import everything, lines_of, put

from cputrain.results.exchange import merged, packfile

pytestmark = pytest.mark.tools

CELL = "output/SeqLen/128/run.json"


def refused(clone, source):
    """Why a source was not taken; nothing is written anywhere, and what it says is one line."""
    around = everything(clone.parent, without=("pipe",))
    (came,) = merged.merge(clone, [source])
    now = everything(clone.parent, without=("pipe",))
    assert now == around | {"clone/.asv/merge.lock": b""}
    assert came.machine is None and len(came.refused) == 1 and "\n" not in came.refused[0]
    return came.refused[0]


NAMES = [
    "../../../../etc/cron.d/x", "/etc/passwd", "output/../../x/run.json", "output/A/../run.json",
    "output/A/b/run.json\x00", "output/A/b/model.safetensors", "output/A/b/c/run.json", "bench.py",
    "output//b/run.json", "asv/../x-y.json", "asv/deadbeef-../../x.json", "asv/deadbeef-x.py",
    "asv/benchmarks.json", "result/here/README.md", "output/quick/quick/b/run.json", "",
    "machine.json ", "MACHINE.JSON", ".asv/merge/x/list.json", "output/A/b/run.json\n",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_member_has_refuses_the_file(path, clone, tmp_path, name):
    head, *members = lines_of(path)
    members.append({"name": name, "text": "{}"})
    made = put(tmp_path / "x.gz", [head | {"members": len(members)}, *members])
    assert "is no name that pack gives" in refused(clone, made)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda head, members: [head, *members, members[0]],
            "it says that it has 4 members, and has 5",
        ),
        (lambda head, m: [head | {"members": 5}, *m, m[0]], "twice"),
        (lambda head, members: [head | {"version": 2}, *members], "of this version"),
        (lambda head, members: [head | {"format": "zip"}, *members], "of this version"),
        (lambda head, members: [head | {"run": "rm"}, *members], "of this version"),
        (lambda head, members: [head | {"members": -1}], "of this version"),
        (lambda head, members: [head | {"machine": "a" * 999}, *members], "of this version"),
        (lambda head, members: members, "of this version"),
        (lambda head, members: [head, {"name": CELL}, *members[1:]], "line 2 is no member"),
        (lambda head, members: [head, "[" * 9999, *members[1:]], "line 2 is no member"),
        (lambda head, m: [head, m[0] | {"mode": 511}, *m[1:]], "line 2 is no member"),
        (lambda head, m: [head | {"machine": "../x"}, *m], "letters, digits and ._- are allowed"),
        (lambda head, m: [head | {"machine": "x"}, *m], "no record in it can be used"),
    ],
)
def test_a_file_that_pack_has_not_made_is_refused(path, clone, tmp_path, change, why):
    head, *members = lines_of(path)
    made = put(tmp_path / "x.gz", change(head, members))
    (came,) = merged.merge(clone, [made])
    assert came.machine is None and re.search(why, " ".join(came.refused))
    assert not (clone / "output").exists() and not (clone / "result").exists()


def tar(tmp_path):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        link = tarfile.TarInfo("output")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
    return whole.getvalue()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda data, tmp: data[: len(data) // 2], "cut off"),
        (lambda data, tmp: data[:100] + b"\xff" * 4 + data[104:], "not a gzip file, or damaged"),
        (lambda data, tmp: data + b"more", "something follows"),
        (lambda data, tmp: data + data, "something follows"),
        (lambda data, tmp: gzip.compress(bytes(200 * 2**20)), "bytes unpack to more than"),
        (lambda data, tmp: gzip.compress(gzip.compress(data)), "of this version"),
        (lambda data, tmp: tar(tmp), "of this version"),
        (lambda data, tmp: b"", "cut off: copy"),
        (lambda data, tmp: b"PK\x03\x04", "not a gzip file"),
    ],
)
def test_what_is_no_such_file_is_refused(path, clone, tmp_path, make, why):
    made = tmp_path / "x.gz"
    made.write_bytes(make(path.read_bytes(), tmp_path))
    assert re.search(why, refused(clone, made))


def test_a_bomb_is_not_unpacked_to_see_that_it_is_one(monkeypatch, tmp_path):
    bomb = gzip.compress(bytes(64 * 2**20))
    unpacked = []
    real = packfile.zlib.decompressobj

    class Counting:
        def __init__(self, kind):
            self.its = real(kind)

        def __getattr__(self, name):
            return getattr(self.its, name)

        def decompress(self, data, most):
            unpacked.append(self.its.decompress(data, most))
            return unpacked[-1]

    monkeypatch.setattr(packfile.zlib, "decompressobj", Counting)
    (tmp_path / "x.gz").write_bytes(bomb)
    with pytest.raises(packfile.Refused, match="unpack to more than"):
        packfile.read(tmp_path / "x.gz")
    assert sum(map(len, unpacked)) < 10 * 2**20


def test_links_pipes_and_folders_are_not_read(path, clone, tmp_path):
    for name in ("link", "pipe"):
        made = tmp_path / name
        made.symlink_to(path) if name == "link" else os.mkfifo(made)
        assert "not a regular file" in refused(clone, made)


def test_links_in_a_folder_lead_nowhere(clone, tmp_path):
    theirs = tmp_path / "theirs"
    cell = theirs / "output" / "here" / "SeqLen" / "128"
    cell.mkdir(parents=True)
    (tmp_path / "secret.json").write_text("{}")
    (cell / "run.json").symlink_to(tmp_path / "secret.json")
    (theirs / "output" / "there").symlink_to(tmp_path)
    came = merged.merge(clone, [theirs])
    assert [its.machine for its in came] == [None]
    assert "SeqLen/128/run.json: not a regular file" in came[0].refused[0]
    assert not (clone / "output").exists()
