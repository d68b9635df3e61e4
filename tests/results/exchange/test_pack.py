"""One small file of a machine's results: what is in it, and what never is."""

import getpass
import os
import platform
import re
import subprocess
import sys

import pytest
from made_packs import everything, lines_of, packed
from made_project import failure, worker
from settled import settled

from cputrain.errors import RunError, UsageError
from cputrain.record import files
from cputrain.record.cell import SCHEMA
from cputrain.results.exchange import pack as packing
from cputrain.results.exchange import packfile

pytestmark = pytest.mark.tools


def members(path):
    return {line["name"]: line["text"] for line in lines_of(path)[1:]}


def test_it_has_records_facts_and_results_of_full_and_quick_runs_and_no_model(sweep, tmp_path):
    sweep.cell("SeqLen", 128, 0.024, settled().but(seq_len=128), mode="quick")
    sweep.save()
    folder = sweep.root / "output" / "here" / "SeqLen" / "128"
    (folder / "model.safetensors").write_bytes(b"1" * 999)
    peaks = sweep.root / "result" / "here" / "machine.json"
    files.write(peaks, {"date": "2026-11-21", "fp32_matmul_flops": {"1": 1e11}})
    made = packing.pack(sweep.root, "here", tmp_path / "x.gz")
    names = members(made.path)
    assert made.records == 19 and made.left_out == [] and made.size == made.path.stat().st_size
    assert {"machine.json", "asv/machine.json", "asv-quick/machine.json"} <= names.keys()
    assert {"output/SeqLen/128/run.json", "output/quick/SeqLen/128/run.json"} <= names.keys()
    assert len([name for name in names if name.startswith("asv/") and "-" in name]) == 1
    assert not any("safetensors" in name for name in names)


def test_the_same_results_give_the_same_bytes(sweep, tmp_path):
    first, again = (packing.pack(sweep.root, None, tmp_path / name).path for name in "ab")
    assert first.read_bytes() == again.read_bytes()


def test_it_lies_where_it_was_called_under_the_machines_name(sweep, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    made = packing.pack(sweep.root)
    assert made.path.name == "here.cputrain.jsonl.gz" and made.path.is_file()
    assert made.path.parent.name.startswith("elsewhere")


def test_folders_and_hosts_are_taken_out(sweep, tmp_path):
    readings = {"library": "/home/ada/my/.asv/env/x/libgomp.so", "places": [{"host": "ada-pc"}]}
    sweep.record("Depth", 4, [worker(settled(), [[0.04]], readings=readings)])
    text = "".join(members(packed(sweep, tmp_path)).values())
    assert "/opt/cputrain/.asv/env/x/libgomp.so" in text and "host-1" in text
    assert "/home/" not in text and "ada" not in re.split(r"\W", text)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("cannot open /srv/ada/lib.so", "/srv/ada"),
        ("lost the link to Kiefer.example.org", "Kiefer"),
        ("not for adalovelace", "adalovelace"),
    ],
)
def test_what_tells_where_it_was_is_one_line_and_no_file(
    sweep, tmp_path, monkeypatch, reason, told
):
    monkeypatch.setattr(platform, "node", lambda: "kiefer")
    monkeypatch.setattr(getpass, "getuser", lambda: "adalovelace")
    sweep.record("Depth", 4, [failure(settled(), "failed", reason)])
    with pytest.raises(RunError, match=f"not written, it would tell.*Depth/4.*{told}") as error:
        packed(sweep, tmp_path)
    assert "\n" not in str(error.value) and not list(tmp_path.glob("*.gz"))


def test_names_that_are_words_of_this_program_tell_nothing(sweep, tmp_path, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "torch")
    monkeypatch.setattr(platform, "node", lambda: "ab")
    assert packed(sweep, tmp_path).is_file()


def test_what_cannot_be_used_is_left_out_and_said(sweep, tmp_path):
    old, half = (f"output/here/SeqLen/{value}/run.json" for value in (128, 512))
    text = (sweep.root / old).read_text()
    (sweep.root / old).write_text(text.replace(f'"schema": {SCHEMA}', '"schema": 1'))
    (sweep.root / half).write_text(text[: len(text) // 2])
    made = packing.pack(sweep.root, "here", tmp_path / "x.gz")
    assert made.records == 16 and len(made.left_out) == 2
    said = dict(line.split(": ", 1) for line in made.left_out)
    assert said[old].startswith("written by an earlier version: run the ")
    assert said[half].startswith("not JSON")


def test_without_anything_to_pack_it_is_one_line(sweep, tmp_path_factory, tmp_path):
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(UsageError, match="no records of any machine; run python3 bench"):
        packing.pack(empty)
    with pytest.raises(UsageError, match="no records of 'other'; there are: here"):
        packing.pack(sweep.root, "other")
    sweep.cell("SeqLen", 128, 0.02, machine="there")
    with pytest.raises(UsageError, match="say which with --machine; there are: here, there"):
        packing.pack(sweep.root)
    before = everything(tmp_path)
    for path in (sweep.root / "output" / "there").rglob("run.json"):
        path.write_text("{")
    with pytest.raises(RunError, match="there: no record of it can be used"):
        packing.pack(sweep.root, "there", tmp_path / "x.gz")
    assert everything(tmp_path).keys() == before.keys()


def test_what_is_read_is_what_was_written(sweep, tmp_path):
    path = packed(sweep, tmp_path)
    bundle = packfile.read(path)
    assert bundle.machine == "here"
    assert {n: t.decode() for n, t in bundle.members.items()} == members(path)


NAMES = """
import locale
from cputrain.results.exchange import private
assert locale.getpreferredencoding(False).lower() != "utf-8"
private.names_here()
"""


def test_names_are_looked_for_in_a_locale_that_is_not_utf_8():
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "LOGNAME": "ada-m"}
    command = [sys.executable, "-c", NAMES]
    done = subprocess.run(command, env=os.environ | plain, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
