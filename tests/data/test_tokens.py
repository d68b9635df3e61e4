"""Token arrays: true to the text, kept by fingerprint, checked on load."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from cputrain.data import corpus
from cputrain.data.batches import END
from cputrain.data.corpus import Corpus, DataError
from cputrain.data.tokens import token_array


def made(*rows: str) -> Corpus:
    return Corpus(rows, "made", corpus.fingerprint(rows))


TEXT = made("the cat sat on the mat, the cat sat", "größe <|endoftext|> \U0001f642", "", "end")


def test_bytes_and_an_end_after_each_row(tmp_path):
    tokens = token_array(TEXT, 257, 4, tmp_path)
    expected = []
    for row in TEXT.rows:
        expected += [*row.encode(), END]
    assert tokens.ids.tolist() == expected
    assert tokens.ids.dtype == np.uint16
    assert (tokens.tokenizer, tokens.vocab) == ("bytes", 257)
    assert (tokens.source, tokens.fingerprint) == ("made", TEXT.fingerprint)


def test_only_the_rows_asked_for(tmp_path):
    all_rows = token_array(TEXT, 257, 4, tmp_path).ids
    two = token_array(TEXT, 257, 2, tmp_path).ids
    assert (two == END).sum() == 2
    assert (all_rows[: len(two)] == two).all()


@pytest.mark.parametrize("vocab_size", [257, 280])
def test_what_is_kept_is_what_was_made(tmp_path, vocab_size):
    if vocab_size > 257:
        pytest.importorskip("tokenizers")
    first = token_array(TEXT, vocab_size, 3, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = token_array(TEXT, vocab_size, 3, tmp_path)
    assert (again.ids == first.ids).all() and again.ids.dtype == first.ids.dtype
    assert again.vocab == first.vocab
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}


def test_another_corpus_does_not_find_this_one(tmp_path):
    token_array(TEXT, 257, 1, tmp_path)
    assert token_array(made("other"), 257, 1, tmp_path).ids.tolist() == [*b"other", END]


def decoded(ids: np.ndarray, path) -> list[bytes]:
    """The bytes of each row, by the kept tokenizer's own vocabulary."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(path.read_text())
    # GPT-2's printable stand-ins for bytes: those that print stand for themselves.
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    odd = [b for b in range(256) if b not in plain]
    byte_of = {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(odd)}
    rows, row = [], b""
    for token in ids.tolist():
        if token == END:
            rows.append(row)
            row = b""
        else:
            spelled = tokenizer.id_to_token(token - (token > END))
            row += bytes(byte_of[letter] for letter in spelled)
    return rows


def test_bpe_is_shorter_and_spells_the_same_text(tmp_path):
    pytest.importorskip("tokenizers")
    tokens = token_array(TEXT, 270, 4, tmp_path)
    (path,) = tmp_path.glob("bpe-*.json")
    assert decoded(tokens.ids, path) == [row.encode() for row in TEXT.rows]
    assert len(tokens.ids) < len(token_array(TEXT, 257, 4, tmp_path).ids)
    assert tokens.vocab == 270 and tokens.ids.max() < 270
    assert tokens.tokenizer == "bpe-270"


def test_bpe_of_a_small_corpus_says_how_many_ids_it_really_has(tmp_path):
    pytest.importorskip("tokenizers")
    tokens = token_array(TEXT, 70_000, 4, tmp_path)
    assert 257 < tokens.vocab < 400
    assert tokens.ids.max() < tokens.vocab
    assert tokens.ids.dtype == np.int32


def test_bpe_is_trained_on_the_whole_corpus_and_alike_everywhere(tmp_path):
    pytest.importorskip("tokenizers")
    text = corpus.load(tmp_path, offline=True)
    few = token_array(text, 1000, 100, tmp_path / "a").ids
    many = token_array(text, 1000, 300, tmp_path / "b").ids
    assert (many[: len(few)] == few).all()
    (a,), (b,) = (tmp_path / "a").glob("bpe*"), (tmp_path / "b").glob("bpe*")
    assert a.read_bytes() == b.read_bytes()


@pytest.mark.parametrize("suffix", [".npy", ".json"])
@pytest.mark.parametrize("damage", [lambda data: data[:-3], lambda data: b"", lambda data: b"[]"])
def test_damage_is_one_line_that_says_what_to_do(tmp_path, suffix, damage):
    token_array(TEXT, 257, 4, tmp_path)
    (path,) = tmp_path.glob(f"tokens-*{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError) as caught:
        token_array(TEXT, 257, 4, tmp_path)
    assert str(path) in str(caught.value) and "delete it" in str(caught.value)
    assert "\n" not in str(caught.value)
    path.unlink()
    assert len(token_array(TEXT, 257, 4, tmp_path).ids) > 4


def test_a_damaged_tokenizer_is_one_line(tmp_path):
    pytest.importorskip("tokenizers")
    token_array(TEXT, 270, 4, tmp_path)
    (path,) = tmp_path.glob("bpe-*.json")
    path.write_text("{}")
    with pytest.raises(DataError, match="delete it"):
        token_array(TEXT, 270, 3, tmp_path)


TOKENS = """
import locale, sys
from pathlib import Path
from cputrain.data.corpus import Corpus
from cputrain.data.tokens import tokenizer
assert locale.getpreferredencoding(False).lower() != "utf-8"
text = Corpus(("gr\\xf6\\xdfe, gr\\xf6\\xdfer", "end"), "made", "0" * 64)
for _ in ("made", "kept"):
    print([ids.tolist() for ids in tokenizer(text, 270, Path(sys.argv[1])).encode(text.rows)])
"""


def test_a_kept_tokenizer_is_the_same_in_a_locale_that_is_not_utf_8(tmp_path):
    pytest.importorskip("tokenizers")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    command = [sys.executable, "-c", TOKENS, str(tmp_path)]
    done = subprocess.run(command, env=os.environ | plain, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    made, kept = done.stdout.splitlines()
    assert kept == made


@pytest.mark.parametrize("vocab_size, rows", [(256, 1), (257, 0), (257, 5)])
def test_what_cannot_be_is_refused(tmp_path, vocab_size, rows):
    with pytest.raises(DataError):
        token_array(TEXT, vocab_size, rows, tmp_path)


def test_a_folder_that_cannot_be_written_is_a_data_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="file"):
        token_array(TEXT, 257, 1, tmp_path / "file" / "data")


LOAD = """
import sys
from pathlib import Path
from cputrain.data import batches, corpus, tokens
text = corpus.load(Path(sys.argv[1]), offline=False)
tokens.token_array(text, 257, 1000, Path(sys.argv[1]))
heavy = {"torch", "datasets", "tokenizers", "urllib.request", "psutil"} & set(sys.modules)
print(sorted(heavy))
"""


def test_a_worker_that_loads_the_bytes_imports_only_numpy(tmp_path):
    token_array(corpus.load(tmp_path, offline=True), 257, 1000, tmp_path)
    command = [sys.executable, "-c", LOAD, str(tmp_path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_the_seconds_that_tokenizing_took_are_kept(tmp_path):
    first = token_array(TEXT, 257, 4, tmp_path)
    assert first.prepared_s is not None and first.prepared_s > 0
    assert token_array(TEXT, 257, 4, tmp_path).prepared_s == first.prepared_s


def test_a_cache_of_an_earlier_version_does_not_say_how_long_it_took(tmp_path):
    first = token_array(TEXT, 257, 4, tmp_path)
    (path,) = tmp_path.glob("tokens-*.json")
    facts = json.loads(path.read_text())
    del facts["prepared_s"]
    path.write_text(json.dumps(facts))
    again = token_array(TEXT, 257, 4, tmp_path)
    assert again.prepared_s is None and (again.ids == first.ids).all()
    path.write_text(json.dumps(facts | {"prepared_s": "long"}))
    with pytest.raises(DataError, match="delete it"):
        token_array(TEXT, 257, 4, tmp_path)
