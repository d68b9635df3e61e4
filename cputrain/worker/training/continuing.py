"""A saved model continues a text, token by token."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

import numpy as np

from cputrain.data.batches import END
from cputrain.data.tokenizer_file import FromFile
from cputrain.record.continued import ContinuationRequest, Continued, Prompt
from cputrain.worker.training import whole

DRAW = 11
"""Second seed of the draws."""


class Model(Protocol):
    """See `engines.torch_.next_token.NextToken`."""

    length: int

    def logits(self, ids: list[int]) -> np.ndarray:
        """Of the token after these."""


def continued(request: ContinuationRequest) -> Continued:
    """What the model of a file writes after a prompt.

    Raises:
        UsageError: the file is no model.
        DataError: no tokenizer.
        ExperimentError, EngineError: the model cannot be asked for the next token.
    """
    from cputrain.engines.torch_.next_token import NextToken

    experiment, weights = whole.load(Path(request.model))
    tokenizer = FromFile(None if request.tokenizer is None else Path(request.tokenizer))
    prompt = request.prompt
    ids = prompt_ids(tokenizer, prompt.text)
    start = time.perf_counter()
    model = NextToken(experiment, weights, most=len(ids) + prompt.tokens)
    written, is_ended = write(model, ids, prompt, min(tokenizer.vocab, experiment.model.vocab_size))
    return Continued(
        prompt=prompt,
        text=tokenizer.decode(written),
        tokens=len(written),
        is_ended=is_ended,
        seconds=time.perf_counter() - start,
    )


def prompt_ids(tokenizer: FromFile, text: str) -> list[int]:
    """The tokens of a prompt; the end of the text before, where it has none."""
    ids: list[int] = tokenizer.encode([text])[0][:-1].tolist()
    return ids or [END]


def write(model: Model, ids: list[int], prompt: Prompt, vocab: int) -> tuple[list[int], bool]:
    """The tokens that follow, and whether the text ends after them.

    Of what is longer than the model sees, it sees the last part.

    Args:
        model: is asked.
        ids: of the prompt, one at least.
        prompt: how many tokens, and how they are drawn.
        vocab: ids that the tokenizer has: others stand for no text, and are never drawn.
    """
    generator = np.random.default_rng([prompt.seed, DRAW])
    written: list[int] = []
    while len(written) < prompt.tokens:
        logits = model.logits([*ids, *written][-model.length :])[:vocab].astype(np.float64)
        chosen = _drawn(logits, prompt.temperature, generator)
        if chosen == END:
            return written, True
        written.append(chosen)
    return written, False


def _drawn(logits: np.ndarray, temperature: float, generator: np.random.Generator) -> int:
    """An id, by softmax(logits / temperature); at 0 the likeliest.

    Gumbel noise on the logits and the largest of them is a draw of the softmax (Maddison et al.
    2014, sec. 2), which never has to be computed.
    """
    if not temperature:
        return int(logits.argmax())
    return int((logits / temperature + generator.gumbel(size=len(logits))).argmax())
