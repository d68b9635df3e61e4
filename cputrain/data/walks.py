"""Made paths: walks along the edges of a random graph. One walk is one document.

They stand for the data of the published runs on paths (`path-2.5m`): 11 000 sequences of 10
to 20 tokens over 45 ids, which are not public. Each node has few successors, so that the
next token can be learned down to ln 3 = 1.1 nats.
"""

from __future__ import annotations

import hashlib
import time

import numpy as np

from cputrain.data.corpus import DataError
from cputrain.data.tokens import Tokens

NODES = 44
SUCCESSORS = 3
END = NODES
"""Id of the end of a walk; the nodes are 0 to 43, which makes 45 ids."""
WALKS = 11_000
SHORTEST, LONGEST = 10, 20
"""Nodes in a walk."""


def graph(seed: int = 0) -> np.ndarray:
    """The successors of each node: three different ones, never itself [NODES, SUCCESSORS]."""
    generator = np.random.default_rng([seed, 2])
    steps = np.array([generator.permutation(NODES - 1)[:SUCCESSORS] + 1 for _ in range(NODES)])
    successors: np.ndarray = (np.arange(NODES)[:, None] + steps) % NODES
    return successors


def walks(count: int, seed: int = 0) -> np.ndarray:
    """`count` walks one after another, END after each [n], uint16.

    A walk starts at any node, has 10 to 20 nodes and takes each edge of a node alike often.
    The first walks are the same whatever `count` is.
    """
    generator = np.random.default_rng([seed, 3])
    following = graph(seed)
    lengths = generator.integers(SHORTEST, LONGEST + 1, size=WALKS)
    nodes = np.full((WALKS, LONGEST + 1), END)
    nodes[:, 0] = generator.integers(NODES, size=WALKS)
    for step in range(1, LONGEST):
        taken = generator.integers(SUCCESSORS, size=WALKS)
        nodes[:, step] = following[nodes[:, step - 1], taken]
    place = np.arange(LONGEST + 1)
    nodes[place >= lengths[:, None]] = END
    return nodes[:count][place <= lengths[:count, None]].astype(np.uint16)


def tokens(rows: int | None) -> Tokens:
    """The tokens of the first `rows` walks, None being all; made anew, which takes a moment.

    They do not depend on the experiment's seed: like a corpus, they are the same for all.

    Raises:
        DataError: more rows than there are walks.
    """
    rows = WALKS if rows is None else rows
    if not 1 <= rows <= WALKS:
        raise DataError(f"rows = {rows}: there are {WALKS} walks")
    start = time.perf_counter()
    ids = walks(rows)
    seconds = time.perf_counter() - start
    source = f"walks of {SHORTEST} to {LONGEST} nodes on a made graph of {NODES}"
    digest = hashlib.sha256(ids.tobytes()).hexdigest()
    return Tokens(ids, source, digest, "paths", NODES + 1, seconds, END)
