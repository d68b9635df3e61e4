"""A run's tokenizer as a file: the ids are the model's own, and text comes back."""

import json

import pytest

from cputrain.data import tokenizer_file, tokens
from cputrain.data.batches import END
from cputrain.data.corpus import Corpus, DataError, fingerprint
from cputrain.data.tokenizer_file import FromFile

pytest.importorskip("tokenizers")
from cputrain.data.bpe import Bpe

TEXTS = (
    "H\u00e4llo  w\u00f6rld\n\tand \u20ac \U0001f600",
    "\x00\x1b[31m\x7f\u0085\u202e",
    tokenizer_file.END_TOKEN,
    " leading, trailing ",
    "",
)
ROWS = tuple(f"the quick brown fox {i} jumps over the lazy d\u00f6gs" for i in range(200)) + TEXTS


@pytest.fixture
def bpe(tmp_path):
    return Bpe(Corpus(ROWS, "made", fingerprint(ROWS)), 400, tmp_path)


def read(tokenizer, folder):
    path = folder / tokenizer_file.FILE
    path.write_text(tokenizer.file(), encoding="utf-8")
    return FromFile(path)


def same(first, second):
    pairs = zip(first.encode(ROWS), second.encode(ROWS), strict=True)
    return all(a.tolist() == b.tolist() for a, b in pairs)


def test_ids_are_those_that_the_model_was_trained_on(bpe, tmp_path):
    assert same(read(bpe, tmp_path), bpe) and read(bpe, tmp_path).vocab == bpe.vocab
    assert same(read(tokens.Bytes(), tmp_path), tokens.Bytes())
    assert same(FromFile(None), tokens.Bytes())
    assert not same(read(bpe, tmp_path), tokens.Bytes())
    assert read(bpe, tmp_path).name == "bpe-400" and FromFile(None).name == "bytes"


def test_text_comes_back_and_no_text_spells_the_end(bpe, tmp_path):
    for tokenizer in (read(bpe, tmp_path), FromFile(None)):
        for text, ids in zip(TEXTS, tokenizer.encode(TEXTS), strict=True):
            assert tokenizer.decode(ids) == text
            assert ids.tolist().count(END) == 1


def test_bytes_that_are_no_utf8_are_replaced_visibly():
    assert FromFile(None).decode([0x41, 0xE2, 0x82, 0x42, 0xFF]) == "A\ufffdB\ufffd"


def test_the_library_alone_gives_these_ids(bpe, tmp_path):
    from tokenizers import Tokenizer

    read(bpe, tmp_path)
    library = Tokenizer.from_file(str(tmp_path / tokenizer_file.FILE))
    for text, ids in zip(TEXTS, bpe.encode(TEXTS), strict=True):
        assert library.encode(text).ids == ids[:-1].tolist()
    assert library.token_to_id(tokenizer_file.END_TOKEN) == END


@pytest.mark.parametrize("how", ["missing", "no JSON", "other JSON", "other end"])
def test_what_is_no_such_file_is_refused(how, tmp_path):
    path = tmp_path / tokenizer_file.FILE
    if how == "other end":
        content = json.loads(tokenizer_file.of_bytes())
        content["model"]["vocab"][tokenizer_file.END_TOKEN] = 300
        path.write_text(json.dumps(content))
    elif how != "missing":
        path.write_text("{" if how == "no JSON" else "{}")
    with pytest.raises(
        DataError, match=r"tokenizer\.json: (no tokenizer|cannot be read)"
    ) as caught:
        FromFile(path)
    assert "\n" not in str(caught.value)


def test_the_digest_is_of_the_whole_file():
    text = tokenizer_file.of_bytes()
    assert tokenizer_file.digest(text) == tokenizer_file.digest(tokenizer_file.of_bytes())
    assert tokenizer_file.digest(text) != tokenizer_file.digest(f"{text} ")
