"""The study of a whole grid (`tests/live/grid.py`), by its own code on simulated step times."""

import pytest
from simulated_workers import Simulated

from cputrain.engines import specs
from cputrain.experiment import Experiment, same_work
from cputrain.run.session import Session
from cputrain.sweep.tuning import reduced
from cputrain.sweep.tuning.planned import PlannedTuning
from tests.live import grid, grid_draw, grid_shares
from tests.live.grid_study import GridStudy

pytestmark = pytest.mark.tools

KEPT = ("loader_workers", "pinning", "wait_policy", "omp_runtime", "huge_pages", "threads")


@pytest.fixture
def study(own_root):
    """Study a choice on a simulated machine, on which only `slower` makes a difference."""

    def study(slower, choice, most=8):
        default = specs.settle(Experiment())
        usual_s = reduced.micro_s(default) * default.training.grad_accum
        workers = Simulated(lambda e: usual_s * slower(e), noise=0.01)
        planned = PlannedTuning(default, 600.0, (), KEPT, 1, "")
        made = GridStudy(planned, default.but(**choice), False, most, 4, workers.now)
        made.choose()
        made.begin(Session.from_env())
        made.tune(workers)
        assert not workers.alive
        return made

    return study


def faster(e):
    """Two changes of torch help, each by itself and both together; other engines are slower."""
    return (
        (0.8 if e.system.allocator == "glibc_thresholds" else 1.0)
        * (0.85 if e.runtime.optimizer_kernel == "foreach" else 1.0)
        * (1.3 if e.runtime.engine != "torch" else 1.0)
    )


def test_a_choice_that_misses_a_change_is_not_within_3_percent_of_the_best(study):
    made = study(faster, {"allocator": "glibc_thresholds"})
    rivals = made.rivals
    assert len(rivals) == 3 and {rival.word for rival in rivals} == {"no"}
    for rival in rivals:
        assert rival.cell.experiment.runtime.optimizer_kernel == "foreach"
        assert rival.gain.effect.low < 1 / 0.85 < rival.gain.effect.high
    assert made.outcome()[-1] == "within 3 % of each of the best 3: no"


def test_the_best_choice_is_within_3_percent_of_all(study):
    best = {"allocator": "glibc_thresholds", "optimizer_kernel": "foreach"}
    made = study(faster, best)
    assert made.outcome()[-1] == "within 3 % of each of the best 3: yes"


def test_a_choice_with_one_value_changed_or_put_back_is_measured(study):
    made = study(faster, {"allocator": "glibc_thresholds"}, most=3)
    near = {cell.label: cell.expected for cell in made.cells if "tune's choice" in cell.label}
    assert near["tune's choice without allocator=glibc_thresholds"] == pytest.approx(0.22, abs=0.05)
    assert near["tune's choice with optimizer_kernel=foreach"] == pytest.approx(-0.16, abs=0.05)
    for cell in made.cells:
        if "tune's choice" in cell.label:  # two fields: micro-batches and how many
            assert len(grid_shares.differing(cell.experiment, made.choice)) <= 2


def test_cells_train_the_same_and_are_of_the_grid(study):
    made = study(lambda e: 1.0, {}, most=12)
    measured = [cell.experiment for cell in made.cells]
    assert len({each.identity for each in measured}) == len(measured) > 12
    assert made.choice.identity not in {each.identity for each in measured}
    for each in measured:
        assert same_work.is_unchanged(each.to_json(), made.default.to_json())
        assert not set(grid_shares.differing(each, made.default)) & set(KEPT)
        assert each.runtime.compile != "inductor"


def test_values_that_a_rule_forbids_together_are_left_out():
    plain = specs.settle(Experiment())
    fields = {"allocator": "mimalloc", "huge_pages": "madvise"}
    singles = tuple(
        grid_shares.SingleChange(name, value, {name: value}, plain.but(**{name: value}), False)
        for name, value in fields.items()
    )
    share = grid_shares.Share("torch", plain, singles)
    known = grid_draw.KnownShare(share, 0.0, {"mimalloc": -0.1, "madvise": -0.1})
    drawn = grid_draw.draw([known], 4, 1, [plain])
    assert (drawn.product, drawn.near) == (4, 4)
    labels = {cell.label for cell in drawn.cells}
    assert "torch, madvise" in labels and "torch, mimalloc, madvise" not in labels
    near = grid_draw.neighbours([known], singles[0].experiment)
    assert "tune's choice with madvise" not in {cell.label for cell in near}


def test_the_count_is_said_and_nothing_is_measured(own_root, capsys):
    words = ["--chosen", "defaults", "--count", "--order", "7", "--preset", "wiki-24m"]
    assert grid.main(words) == 0
    said = capsys.readouterr().out
    assert "combinations in all; 40 of them are measured at most" in said and "seed 7" in said


def test_settings_of_another_model_are_refused(own_root, tmp_path, capsys):
    file = tmp_path / "settings.toml"
    file.write_text("n_layer = 2\nallocator = 'glibc_thresholds'\n")
    assert grid.main(["--chosen", str(file), "--count"]) == 2
    assert "trains another model than the one described" in capsys.readouterr().err
    assert grid.main(["--chosen", str(file), "--count", "--n-layer", "2"]) == 0
    assert "tune's choice: allocator=glibc_thresholds" in capsys.readouterr().out
