"""Which suites and cells a run takes: expressions as asv's, and --quick."""

import itertools
import re

import pytest
from found_suites import ALL

from cputrain.errors import UsageError
from cputrain.sweep.calls import Call
from cputrain.sweep.choice import choose
from cputrain.sweep.selection import WHOLE_S, Choice


def test_quick_takes_ends_middle_and_baseline():
    (chosen,) = choose(ALL, [r"\.BatchSize.*torch"], quick=True)
    assert [cell.values[0] for cell in chosen.cells] == [1, 16, 64]
    (chosen,) = choose(ALL, [r"\.SeqLen.*torch"], quick=True)
    assert [cell.values[0] for cell in chosen.cells] == [128, 256, 512, 2048]


def test_quick_takes_ends_middle_and_baseline_of_each_engine():
    (chosen,) = choose(ALL, [r"\.VocabSize"], quick=True)
    few = [cell.values for cell in chosen.cells if cell.engine == "torch"]
    assert few == [(257, "torch"), (8000, "torch"), (50000, "torch")]
    assert {cell.engine for cell in chosen.cells} >= {"torch", "jax"}
    assert {cell.engine for cell in chosen.baselines} == {cell.engine for cell in chosen.cells}


def test_quick_by_itself_takes_the_cells_that_suites_name():
    chosen = choose(ALL, None, quick=True)
    cells = [(planned.name, cell.values) for planned in chosen for cell in planned.cells]
    assert 20 <= len([c for planned in chosen for c in planned.cells if c.why_not is None]) <= 30
    assert ("SeqLen", (512, "torch")) in cells and ("Allocator", ("mimalloc",)) in cells
    for planned in chosen:
        assert {cell.baseline for cell in planned.cells} <= {cell.name for cell in planned.cells}


def test_quick_by_itself_has_an_identical_pair_of_each_engine_that_it_compares():
    """Without one there is no interval, and so nothing to say of the engine."""
    chosen = {planned.name: planned for planned in choose(ALL, None, quick=True)}
    compared = {cell.experiment.runtime.engine for cell in chosen["Framework"].cells}
    assert (
        {cell.engine for cell in chosen["Baseline"].cells} == compared == {"torch", "jax", "native"}
    )


def test_regexes_match_as_asv_s_do():
    (chosen,) = choose(ALL, [r"SeqLen.*\((128|2048), 'torch'\)"], quick=False)
    assert [cell.values for cell in chosen.cells] == [(128, "torch"), (2048, "torch")]
    method = r"training\.SeqLen\.time_train_steps"
    assert Call((chosen,)).pattern() == rf"^({method}\(128,\ 'torch'\)|{method}\(2048,\ 'torch'\))$"


def test_the_pattern_for_asv_names_what_is_declared_only():
    (chosen,) = choose(ALL, ["SeqLen"], quick=False)
    kind = chosen.suite
    for cell in itertools.product(*kind.params):
        name = f"{chosen.benchmark}({', '.join(map(repr, cell))})"
        assert bool(re.match(Call((chosen,)).pattern(), name)) == (cell in kind.cells())


def test_a_name_that_matches_nothing_is_answered_with_the_nearest():
    with pytest.raises(
        UsageError, match=r"no suite matches 'activation'; did you mean Activation\?"
    ):
        choose(ALL, ["activation"], quick=False)
    with pytest.raises(UsageError, match="no suite matches 'Nonesuch'; there are Baseline, "):
        choose(ALL, ["Nonesuch"], quick=False)


@pytest.mark.parametrize(
    ("set_up_s", "measures_s"),
    [
        (10, 18 * 60),  # everything is there: the passes have all of their time
        (180, 16 * 60),
        (15 * 60, 12 * 60),  # a slow line
    ],
)
def test_a_long_set_up_is_taken_off_the_passes_as_far_as_they_go_on(set_up_s, measures_s):
    choice = Choice(whole_s=WHOLE_S, leaves_out=True)
    assert choice.until(100.0, 100.0 + set_up_s) == 100.0 + set_up_s + measures_s


def test_minutes_that_were_asked_for_are_all_for_the_passes():
    assert Choice(budget_s=240.0).until(100.0, 1000.0) == 1240.0
