"""The picture of the first screen: its caption says what is drawn, and what is left out."""

import pytest

from cputrain.report import forest
from cputrain.report.forest import MOST_BARS, Bar

pytestmark = pytest.mark.tools


def bars(**counts):
    """So many bars of each verdict; "not_told" is "not told"."""
    return [
        Bar(f"{word} {i}", 1.0, 0.9, 1.1, word.replace("_", " "))
        for word, count in counts.items()
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"faster": 1, "slower": 1}, "Blue: faster, orange: slower."),
        ({"same": 2}, "Grey square: the same within 3 %."),
        (
            {"not_told": 3, "slower": 1, "same": 1},
            "Orange: slower, grey square: the same within 3 %, hollow circle: not told.",
        ),
        (
            {"faster": MOST_BARS, "same": 2, "not_told": 12},
            "Blue: faster. Left out: 2 more, same; 12 more, not told.",
        ),
        (
            {"slower": MOST_BARS - 1, "not_told": 16},
            "Orange: slower, hollow circle: not told. Left out: 15 more, not told.",
        ),
    ],
)
def test_the_caption_is_of_the_signs_that_are_drawn(counts, said):
    made = bars(**counts)
    assert forest.caption(made) == said
    signs = {mark.sign for mark in forest.draw("here", made).marks}
    named = {"Blue": "left", "range": "right", "square": "square", "hollow": "hollow"}
    assert signs == {sign for word, sign in named.items() if word in said}
