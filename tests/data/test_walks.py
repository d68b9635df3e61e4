"""Walks: along the edges of the graph only, always the same ones, of 10 to 20 nodes."""

import numpy as np
import pytest

from cputrain.data import walks
from cputrain.data.corpus import DataError


def split(ids) -> list[np.ndarray]:
    return [walk[:-1] for walk in np.split(ids, np.flatnonzero(ids == walks.END) + 1)[:-1]]


def test_walks_follow_edges_and_use_all_of_them():
    graph = walks.graph()
    assert graph.shape == (44, 3) and (graph < 44).all()
    assert all(len({*row, node}) == 4 for node, row in enumerate(graph.tolist()))
    edges = {(node, to) for node, row in enumerate(graph.tolist()) for to in row}
    taken = set()
    for walk in split(walks.walks(11_000)):
        taken |= set(zip(walk[:-1].tolist(), walk[1:].tolist(), strict=True))
    assert taken == edges


def test_there_are_11_000_of_10_to_20_nodes_in_45_ids():
    tokens = walks.tokens(None)
    lengths = [len(walk) for walk in split(tokens.ids)]
    assert len(lengths) == 11_000 and tokens.ids[-1] == walks.END
    assert (min(lengths), max(lengths)) == (10, 20) and 14.8 < np.mean(lengths) < 15.2
    assert tokens.ids.max() == 44 and tokens.vocab == 45 and tokens.end == 44
    assert tokens.tokenizer == "paths" and tokens.prepared_s > 0


def test_the_seed_decides_and_fewer_rows_are_the_first_ones():
    assert (walks.walks(500) == walks.walks(500)).all()
    few, many = walks.tokens(100), walks.tokens(200)
    assert (many.ids[: len(few.ids)] == few.ids).all() and len(split(few.ids)) == 100
    assert few.fingerprint != many.fingerprint
    assert walks.walks(500, seed=1)[:50].tolist() != walks.walks(500)[:50].tolist()


@pytest.mark.parametrize("rows", [0, 11_001])
def test_more_walks_than_there_are_is_refused(rows):
    with pytest.raises(DataError, match=f"rows = {rows}"):
        walks.tokens(rows)
