"""What the studies measure (`tests/live/passes.py`) are the processes that they say."""

import pytest
from settled import settled

pytest.importorskip("torch")

from tests.live.passes import bench

SMALL = settled(n_layer=1, n_embd=32, seq_len=16, warm_up_steps=2, steps=1, cores=1, threads=1)


@pytest.mark.parametrize(
    ("fresh", "forked"),
    [("cell", {"reference"}), ("reference", {"cell"}), (None, {"cell", "reference"})],
)
def test_a_side_is_a_fresh_interpreter_where_it_is_to_be_one(fresh, forked):
    with bench() as workers:
        assert workers.measure(SMALL, SMALL, 1, fresh=fresh).forked == forked
