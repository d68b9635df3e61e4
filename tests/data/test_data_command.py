"""`python -m cputrain.data`."""

import json
import subprocess
import sys

import pytest

from cputrain.data import corpus
from cputrain.data.__main__ import main
from cputrain.data.feed import open_feed
from cputrain.experiment import Experiment


def test_it_prepares_and_says_what_it_has(tmp_path, capsys):
    assert main(["--offline", "--root", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "pydoc_data.topics" in out and "1000 rows" in out and "bytes: " in out
    note, _, rest = out.partition("\n")
    assert note.startswith("offline") and "offline" not in rest and err == ""
    assert main(["--offline", "--root", str(tmp_path)]) == 0
    assert capsys.readouterr() == (rest, "")


def test_bad_data_is_one_line_and_status_2(tmp_path, capsys):
    (tmp_path / corpus.FILE).write_text("{")
    assert main(["--root", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and corpus.FILE in err


def test_more_rows_than_there_are_is_one_line_and_status_2(tmp_path, capsys):
    assert main(["--offline", "--root", str(tmp_path), "--rows", "1001"]) == 2
    assert "rows = 1001" in capsys.readouterr().err


def test_a_vocabulary_that_is_no_number_is_bad_usage(tmp_path):
    with pytest.raises(SystemExit) as caught:
        main(["--root", str(tmp_path), "--vocab-size", "many"])
    assert caught.value.code == 2


def test_it_runs_as_a_module(tmp_path):
    command = [sys.executable, "-m", "cputrain.data", "--offline", "--root", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["257", "300"], ["257", "--vocab-size", "300"]])
def test_several_vocabularies(tmp_path, capsys, words):
    pytest.importorskip("tokenizers")
    assert main(["--offline", "--root", str(tmp_path), "--vocab-size", *words]) == 0
    out = capsys.readouterr().out
    assert "bytes: " in out and "bpe-300: " in out


def test_what_experiments_need_is_prepared_each_once(tmp_path, capsys):
    pytest.importorskip("tokenizers")
    base = Experiment()
    experiments = [
        base,
        base.but(seq_len=128, packing="padded"),
        base.but(architecture="bert", objective="masked", vocab_size=301),
        base.but(vocab_size=300, loader="stream", loader_workers=2),
        base.but(dataset="paths", packing="padded", vocab_size=45),
        base.but(rows=100),
    ]
    path = tmp_path / "experiments.json"
    path.write_text(json.dumps([experiment.to_json() for experiment in experiments]))
    root = tmp_path / "data"
    words = ["--offline", "--root", str(root), "--experiments", str(path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.count("bytes: ") == 2 and out.count("bpe-300: ") == 1 and out.count("paths: ") == 1
    names = sorted(name.name.split("-")[0] for name in root.iterdir())
    assert names == [".corpus.lock", "bpe", "corpus", "corpus.json"] + ["tokens"] * 6
    before = {name: name.stat().st_mtime_ns for name in root.iterdir()}
    for experiment in experiments:
        feed = open_feed(experiment, root, offline=True)
        feed.next()
        feed.close()
    assert {name: name.stat().st_mtime_ns for name in root.iterdir()} == before


@pytest.mark.parametrize("text", ["", "{}", '[{"model": {"n_layer": 0}}]', "[7]"])
def test_a_bad_list_of_experiments_is_one_line_and_status_2(tmp_path, capsys, text):
    path = tmp_path / "experiments.json"
    path.write_text(text)
    assert main(["--offline", "--root", str(tmp_path), "--experiments", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["--root", str(tmp_path), "--experiments", str(tmp_path / "none")]) == 2
