"""What a trained model writes after a text that it is given."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cputrain.record.part import Count, Part, Seconds

TOKENS, TEMPERATURE = 100, 0.8
"""Where neither is given; 0.8 keeps a small model from saying the same few words for ever."""


class Prompt(Part, frozen=True, kw_only=True):
    """What is continued, and how.

    Attributes:
        text: to be continued; empty is the start of a document.
        tokens: at most.
        temperature: the logits are divided by it before one is drawn; 0 takes the likeliest.
        seed: of the draws.
    """

    text: str
    tokens: Annotated[int, Meta(ge=1)] = TOKENS
    temperature: Annotated[float, Meta(ge=0, le=100)] = TEMPERATURE
    seed: Count = 0


class ContinuationRequest(Part, frozen=True, kw_only=True):
    """A prompt for a saved model.

    Attributes:
        model: its file of weights.
        tokenizer: file of its tokenizer; None is bytes.
    """

    model: str
    tokenizer: str | None
    prompt: Prompt


class Continued(Part, frozen=True, kw_only=True, tag_field="answer", tag="continued"):
    """What came of a prompt.

    Attributes:
        text: what the model wrote, without the prompt; bytes that are no UTF-8 are U+FFFD.
        tokens: that it wrote.
        is_ended: whether it said that the document ends there.
        seconds: of it, without imports.
    """

    prompt: Prompt
    text: str
    tokens: Count
    is_ended: bool
    seconds: Seconds
