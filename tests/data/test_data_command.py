"""`python -m cputrain.data`."""

import subprocess
import sys

import pytest

from cputrain.data import corpus
from cputrain.data.__main__ import main


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
