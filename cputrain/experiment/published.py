"""What the sources of the presets say, as far as it can be compared. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass

Range = tuple[float, float]
"""Lowest and highest; twice the same where a source gives one number."""

WIKITEXT_2 = 2_088_628
WIKITEXT_103 = 103_227_021
"""Words of the training sets (Merity et al. 2017, table 1); a tokenizer makes more of them."""
HOUR, DAY = 3600.0, 86400.0


@dataclass(frozen=True, kw_only=True)
class PublishedFigure:
    """What a source says of a preset on one machine.

    Attributes:
        hardware: the source's words for it; empty where it names none.
        step_s: seconds per optimizer step; None where the source neither gives nor implies it.
        tokens_per_s, gflop_per_s, peak_share, rss_bytes: as far as the source gives them.
        data_s, initialisation_s: seconds that making the data set and the model take.
        how: what step_s was reckoned from, where the source gives another figure.
        is_measured: False for what its authors expect.
    """

    hardware: str = ""
    step_s: Range | None = None
    tokens_per_s: Range | None = None
    gflop_per_s: float | None = None
    peak_share: float | None = None
    rss_bytes: Range | None = None
    data_s: Range | None = None
    initialisation_s: Range | None = None
    how: str = ""
    is_measured: bool = True


def wikitext_2(hardware: str, low_h: float, high_h: float, tokens_per_step: int) -> PublishedFigure:
    """5 epochs of WikiText-2 in so many hours."""
    steps = 5 * WIKITEXT_2 / tokens_per_step
    return PublishedFigure(
        hardware=hardware,
        step_s=(low_h * HOUR / steps, high_h * HOUR / steps),
        how=f"5 epochs of WikiText-2 in {low_h:g} to {high_h:g} h, a token per word",
    )


def wikitext_103(
    hardware: str, low_days: float, high_days: float, tokens_per_step: int
) -> PublishedFigure:
    """WikiText-103 in so many days; the source does not say how often, once is taken."""
    steps = WIKITEXT_103 / tokens_per_step
    return PublishedFigure(
        hardware=hardware,
        step_s=(low_days * DAY / steps, high_days * DAY / steps),
        how=f"WikiText-103 in {low_days:g} to {high_days:g} days, once, a token per word",
    )
