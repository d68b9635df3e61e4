"""Feeds over a made corpus and over the built-in one."""

import json

import numpy as np

from cputrain.data import corpus, feed
from cputrain.data.batches import END
from cputrain.experiment import Experiment

ROWS = (
    "a row of some twenty-five",
    "b: größe und \U0001f642, a second row that is rather longer than one sequence",
    "",
    "x",
    "y and the last one, which ends the stream",
)
"""Rows shorter and longer than 16 tokens, an empty one, and one of a single letter."""

DOCUMENTS = [[*row.encode(), END] for row in ROWS]
"""Their tokens."""

OBJECTIVES = {
    "causal": {},
    "forward": {"objective": "forward"},
    "padded": {"packing": "padded"},
    "paths": {"dataset": "paths", "packing": "padded", "vocab_size": 45, "rows": None},
    "masked": {"objective": "masked", "architecture": "bert", "vocab_size": 258},
    "masked_node": {"objective": "masked_node", "architecture": "bert", "vocab_size": 258},
}
"""Fields of every kind of feed, for 1 000 rows of bytes."""


def opened(root, **fields) -> feed.Feed:
    """The feed of the baseline with these fields, over the corpus under `root`."""
    return feed.open_feed(Experiment().but(**fields), root, offline=True)


def keep(root, rows) -> None:
    """Keep `rows` as the corpus under `root`."""
    root.mkdir(parents=True, exist_ok=True)
    content = {"source": "made", "fingerprint": corpus.fingerprint(tuple(rows)), "rows": rows}
    (root / corpus.FILE).write_text(json.dumps(content))


def equal(a, b) -> bool:
    """Whether two batches have the same arrays."""
    names = ("inputs", "targets", "relations", "node_targets", "places")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)
