"""The order of the suites, and what sizes cost."""

import pytest

from cputrain.analysis.ranking import rank
from cputrain.record.cell import CellKey
from cputrain.record.part import typed
from cputrain.record.work import Counts
from cputrain.results.rows import CellResult

pytestmark = pytest.mark.tools

NUMBERS = ("n_params", "n_trained", "tokens_per_step", "flops_per_step", "flops_formula")
MEMORY = ("parameters", "gradients", "optimizer", "activations", "buffers", "queue", "framework")


class Worker:
    """What the ranking needs of one: the counts of its experiment."""

    def __init__(self, tokens, flops, formula, params):
        counts = dict(zip(NUMBERS, (params, params, tokens, flops, formula), strict=True))
        counts |= {"flops_by_type": {}, "memory_estimate_bytes": 1}
        self.counts = typed(Counts, counts | {"memory": dict.fromkeys(MEMORY, 1)})
        self.reference_counts = None


def cell(
    suite, value, effect=None, within=1.01, tokens=256, flops=1000, formula=None, params=100,
    status="ok", engine=None, base="base", training=None,
):  # fmt: skip
    values = (value,) if engine is None else (value, engine)
    names = ("x",) if engine is None else ("x", "engine")
    baseline = str(base) if engine is None else f"{base}-{engine}"
    key = CellKey(suite, values, names, baseline=baseline)
    size = Worker(tokens, flops, formula or flops, params)
    made = CellResult(
        "here", key, key.name, "full", status, None, 9.0, (size,),
        experiment={"training": training or {}},
    )  # fmt: skip
    row = dict.fromkeys(("effect", "effect_low", "effect_high", "verdict", "further_passes"))
    row |= {"first_effect": effect, "later_high": None}
    if effect is not None:
        row |= {"effect": effect}
        row |= {"effect_low": effect / within, "effect_high": effect * within} if within else {}
    return made, row


def test_suites_stand_by_the_end_of_an_interval_that_is_nearest_to_1():
    cells = [
        cell("Sure", "base"),
        cell("Sure", "a", 1.10, within=1.01),
        cell("Wide", "base"),
        cell("Wide", "a", 1.40, within=1.35),
        cell("Fast", "base"),
        cell("Fast", "a", 0.50, within=1.02),
        cell("Fast", "b", None, status="failed"),
        cell("Open", "base"),
        cell("Open", "a", 1.20, within=1.5),
        cell("Without", "base"),
        cell("Without", "a", None),
    ]
    ranked = rank(cells)
    assert [line.suite for line in ranked] == ["Fast", "Sure", "Wide", "Open"]
    fast = ranked[0]
    assert (fast.fastest.cell.value, fast.slowest.cell.value) == ("a", "base")
    assert (fast.fastest.effect, fast.slowest.effect) == (0.5, 1.0)
    assert fast.kind == "settings" and fast.per_token is None and fast.exponent is None


def test_a_baseline_is_1_whatever_its_pairs_say():
    cells = [cell("S", "base", 0.97), cell("S", "a", 0.98)]
    (line,) = rank(cells)
    assert line.fastest.cell.value == "a" and line.slowest.effect == 1.0


@pytest.mark.parametrize(
    ("first", "later_high", "confirmed"),
    [(0.8, 0.95, True), (0.8, 1.01, False), (0.8, None, False), (0.95, 0.95, False)],
)
def test_the_fastest_is_confirmed_by_passes_that_did_not_choose_it(first, later_high, confirmed):
    """By the first pass alone the other value, at 0.9, may have been the fastest."""
    fast, row = cell("S", "fast", 0.85)
    row |= {"first_effect": first, "later_high": later_high}
    (line,) = rank([cell("S", "base"), (fast, row), cell("S", "other", 0.9)])
    assert line.fastest.cell is fast and line.is_confirmed == confirmed


def test_a_baseline_that_is_fastest_needs_no_confirmation():
    (line,) = rank([cell("S", "base"), cell("S", "slow", 1.5)])
    assert not line.is_confirmed


def test_an_effect_without_an_interval_ranks_behind_and_is_shown():
    cells = [cell("S", "base"), cell("S", "a", 3.0, within=None)]
    cells += [cell("T", "base"), cell("T", "a", 1.05, within=1.01)]
    assert [line.suite for line in rank(cells)] == ["T", "S"]


def test_sizes_have_times_per_token_and_per_flop_and_an_exponent():
    sizes = {128: (0.6, 400), 256: (None, 1000), 512: (1.8, 2500), 1024: (3.6, 7000)}
    cells = [
        cell("SeqLen", value, effect, tokens=value, flops=flops, base=256)
        for value, (effect, flops) in sizes.items()
    ]
    (line,) = rank(cells)
    assert line.kind == "sizes"
    assert line.per_token == pytest.approx((0.9, 1.2))
    assert line.per_flop == pytest.approx((3.6 / 7, 1.5))
    # Through (128, .6), (256, 1), (512, 1.8), (1024, 3.6): about 0.86.
    assert line.exponent == pytest.approx(0.86, abs=0.01)


def test_a_model_s_parameters_are_its_size_where_values_are_names():
    cells = [cell("ModelSize", "1M", params=1_000_000, flops=1000, base="1M")]
    cells.append(cell("ModelSize", "4M", 4.0, params=4_000_000, flops=4000, base="1M"))
    cells.append(cell("ModelSize", "16M", 16.0, params=16_000_000, flops=16_000, base="1M"))
    assert rank(cells)[0].exponent == pytest.approx(1)
    kinds = [cell("Kind", "gpt", params=100, base="gpt")]
    kinds += [cell("Kind", name, 2.0, params=101, formula=1500, base="gpt") for name in "ab"]
    (line,) = rank(kinds)
    assert line.kind == "sizes" and line.exponent is None


def test_recomputing_is_the_same_work():
    cells = [cell("Checkpointing", "base", flops=1000, formula=1000)]
    cells.append(cell("Checkpointing", "on", 1.24, flops=1330, formula=1000))
    assert rank(cells)[0].kind == "settings"


def test_another_training_of_the_same_size_is_no_setting():
    """Fewer trained weights, or another update, are less time for something else."""
    cells = [cell("FineTuning", "base")]
    cells.append(cell("FineTuning", "head", 0.3, training={"fine_tuning": "head"}))
    cells += [cell("Precision", "base"), cell("Precision", "a", 0.6, training={"precision": "x"})]
    assert {line.suite: line.kind for line in rank(cells)} == {
        "FineTuning": "trainings",
        "Precision": "settings",
    }


def test_an_engine_s_values_are_compared_with_its_own():
    cells = [
        cell("S", value, effect, engine=engine)
        for engine, effect in (("torch", 1.5), ("jax", 3.0), ("native", None))
        for value, effect in (("base", None), ("a", effect))
    ]
    (suite,) = rank(cells)
    assert (suite.engine, suite.slowest.effect) == ("torch", 1.5)
    assert [(other.engine, other.slowest.effect) for other in suite.others] == [("jax", 3.0)]


def test_what_ran_beside_another_release_of_the_baseline_is_not_ranked():
    """IPEX's environment has a torch of its own, which the row of torch is not of."""
    cells = [cell("S", "torch", base="torch"), cell("S", "jax", 1.5, base="torch")]
    cells.append(cell("S", "ipex", 0.5, base="torch"))
    for made, _ in cells:
        made.experiment["runtime"] = {"engine": made.value}
    (suite,) = rank(cells)
    assert (suite.fastest.cell.value, suite.slowest.cell.value) == ("torch", "jax")
    assert rank(cells[2:]) == []  # nor where no row says what torch took


def test_the_suite_of_identical_cells_is_not_ranked():
    assert rank([cell("Baseline", "base"), cell("Baseline", "B", 1.4)]) == []
