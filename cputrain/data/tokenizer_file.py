"""A run's tokenizer as a file: in the format of the tokenizers library, with the model's own ids.

`tokenizers.Tokenizer.from_file` reads it and gives the very ids that the model was trained on, for
bytes as for a BPE. The end of text is id 256; it is in the vocabulary and no merge leads to it, so
that no text can spell it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cputrain.data.batches import END
from cputrain.data.corpus import DataError

FILE = "tokenizer.json"
END_TOKEN = "<|endoftext|>"
BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}
BPE = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


def alphabet() -> list[str]:
    """The character that stands for each byte, by its number, in byte-level BPE.

    Printable ones stand for themselves, the others for the code points from 256 on (the released
    code of Radford et al. 2019, encoder.py).
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    characters, free = [], 256
    for byte in range(256):
        characters.append(chr(byte if byte in printable else free))
        free += byte not in printable
    return characters


def of_bytes() -> str:
    """The file of the byte vocabulary."""
    vocab = {character: byte for byte, character in enumerate(alphabet())}
    return _written({"model": {**BPE, "vocab": vocab, "merges": []}, "pre_tokenizer": BYTE_LEVEL})


def of_bpe(trained: str) -> str:
    """The file of a BPE of which the library has said `trained`; merges move up by one for END."""
    content = json.loads(trained)
    vocab = content["model"]["vocab"]
    content["model"]["vocab"] = {token: i + (i >= END) for token, i in vocab.items()}
    return _written(content)


def _written(content: dict[str, Any]) -> str:
    content["model"]["vocab"][END_TOKEN] = END
    usual: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
    }
    usual |= {"normalizer": None, "post_processor": None}
    text = json.dumps({**usual, **content, "decoder": BYTE_LEVEL}, ensure_ascii=False)
    return f"{text}\n"


def digest(text: str) -> str:
    """SHA-256 of such a file, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


class FromFile:
    """The tokenizer of such a file: see `data.tokens.Tokenizer`.

    Args:
        path: of the file; None is the byte vocabulary.

    Attributes:
        name: "bytes", or "bpe" with the number of ids.
        vocab: ids that there are, END among them.

    Raises:
        DataError: it cannot be read, or is no such file.
    """

    def __init__(self, path: Path | None) -> None:
        # Its threads would outlive the call, in a process that is being measured.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer

        try:
            self._text = of_bytes() if path is None else path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: cannot be read: {error}") from error
        try:
            self._tokenizer = Tokenizer.from_str(self._text)
        except Exception as error:  # the library raises nothing narrower
            raise DataError(f"{path}: no tokenizer: {error}") from error
        if self._tokenizer.token_to_id(END_TOKEN) != END:
            raise DataError(f"{path}: no tokenizer of a run: {END_TOKEN} is not its id {END}")
        self.vocab: int = self._tokenizer.get_vocab_size()
        self.is_bytes = self._text == of_bytes()
        self.name = "bytes" if self.is_bytes else f"bpe-{self.vocab}"

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The ids of each text and END."""
        encoded = self._tokenizer.encode_batch([*texts], add_special_tokens=False)
        return [np.array([*text.ids, END], np.int64) for text in encoded]

    def file(self) -> str:
        """The text of its file."""
        return self._text

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids without END; bytes that are no UTF-8 are U+FFFD."""
        text: str = self._tokenizer.decode([int(i) for i in ids if i != END])
        return text
