"""Random numbers of a checkpoint: each rank's own, and a seed of its own for one that is new."""

from types import SimpleNamespace

import numpy as np
import pytest
from settled import settled

torch = pytest.importorskip("torch")

from cputrain.record.plan import TrainingPlan  # noqa: E402
from cputrain.worker.training.ranks.saving import RankSaving  # noqa: E402

TWO = settled(batch_size=4, processes=2)


def drawn_by(number, size):
    """State of a generator."""
    return torch.Generator().manual_seed(number * size).get_state().numpy()


STATE = {
    "h.0.fc.weight/step": np.array(3.0),
    "random": drawn_by(1, 7),
    "ranks/1/random": drawn_by(2, 7),
}


def own(rank, step=12, state=STATE):
    """What a rank takes of a checkpoint's state."""
    given = (TWO, TrainingPlan(steps=24), None, "", None, None, None, None)
    return RankSaving(*given, group=SimpleNamespace(rank=rank))._own(state, step)


def test_each_rank_goes_on_with_its_own():
    for rank, name in enumerate(("random", "ranks/1/random")):
        mine = own(rank)
        assert sorted(mine) == ["h.0.fc.weight/step", "random"]
        assert np.array_equal(mine["random"], STATE[name])


def test_a_rank_that_is_new_draws_by_its_number_and_the_step():
    alone = {name: array for name, array in STATE.items() if not name.startswith("ranks/")}
    assert np.array_equal(own(0, state=alone)["random"], STATE["random"])
    states = [own(rank, step)["random"] for rank in (2, 3) for step in (12, 13)]
    states += [own(1, state=alone)["random"], *STATE.values()]
    assert len({state.tobytes() for state in states}) == len(states)
    assert np.array_equal(own(2)["random"], own(2)["random"])
    torch.Generator().set_state(torch.from_numpy(own(2)["random"]))  # it is a generator's
