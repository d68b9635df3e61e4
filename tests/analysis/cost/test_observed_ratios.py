"""Which cells tell what an engine's steps cost."""

import math
from types import SimpleNamespace

import pytest
from settled import settled

from cputrain.analysis.cost.observed import NEAR_S, ratios
from cputrain.analysis.ends import log_sd
from cputrain.analysis.moments import Moment
from cputrain.analysis.places import Places
from cputrain.record.noise import Noise

pytestmark = pytest.mark.tools


def sample(faults, steps=2, optimizer_s=None):
    noise = SimpleNamespace(minor_faults=faults)
    return SimpleNamespace(noise=noise, step_s=[0.1] * steps, median_s=0.1, optimizer_s=optimizer_s)


def cell(name, baseline, samples=(), references=(), **fields):
    suite = name.split("/")[0]
    pairs = [SimpleNamespace(sample=i, reference=its_id) for i, its_id in enumerate(references)]
    worker = SimpleNamespace(experiment=settled(**fields).to_json(), samples=samples, pairs=pairs)
    key = SimpleNamespace(baseline=baseline)
    made = SimpleNamespace(
        name=name, suite=suite, key=key, ok=True, workers=(worker,), same_as=None
    )
    ends = {"effect_low": 0.4, "effect_high": 0.6}
    return made, {"effect": 0.5, **ends, "passes": 1, "place": None}


def test_a_cell_beside_another_engine_tells_neither_engine_s_costs():
    """The reference's terms would be taken times the cell's own engine's coefficients."""
    cells = [
        cell("Framework/torch", "torch"),
        cell("Framework/native", "torch", engine="native"),
        cell("Depth/4-native", "4-native", engine="native"),
        cell("Depth/8-native", "4-native", engine="native", n_layer=8),
    ]
    assert [ratio.name for ratio in ratios(cells)] == ["Depth/8-native"]


def test_a_cell_that_reads_other_data_alone_tells_no_cost():
    cells = [
        cell("DatasetSize/1000", "1000"),
        cell("DatasetSize/300", "1000", rows=300),
        cell("SeqLen/128", "1000", seq_len=128),
    ]
    assert [ratio.name for ratio in ratios(cells)] == []


def test_how_exact_a_ratio_is_depends_on_its_passes():
    cells = [
        cell("Depth/4", "4"),
        cell("Depth/8", "4", n_layer=8),
        cell("Depth/16", "4", n_layer=16),
    ]
    cells[2][1]["passes"] = 3
    once, thrice = ratios(cells)
    assert once.sd == pytest.approx(log_sd(0.4, 0.6, 1))
    assert thrice.sd == pytest.approx(log_sd(0.4, 0.6, 3))


def test_pages_are_those_of_a_step_in_the_blocks_that_were_paired():
    own, beside = [sample(20), sample(60), sample(None)], [sample(8), sample(4, steps=1), sample(0)]
    cells = [cell("Depth/4", "4"), cell("Depth/8", "4", own, beside, n_layer=8)]
    (ratio,) = ratios(cells)
    assert (ratio.pages, ratio.reference_pages) == (20, 4)
    (unknown,) = ratios([cells[0], cell("Depth/2", "4", n_layer=2)])
    assert (unknown.pages, unknown.reference_pages) == (None, None)


def test_the_update_s_share_is_that_of_the_cell_s_own_steps():
    own = [sample(0, optimizer_s=seconds) for seconds in (0.02, 0.03, 0.09, None)]
    cells = [
        cell("Depth/4", "4"),
        cell("Depth/8", "4", own, [sample(0, optimizer_s=0.05)] * 4, n_layer=8),
        cell("Depth/2", "4", [sample(0)], [sample(0)], n_layer=2),
    ]
    assert [ratio.update_share for ratio in ratios(cells)] == [pytest.approx(0.3), None]


def alone(step_s, trip_ns):
    """A published run, begun at 1 000 s."""
    noise = Noise(round_trip_after_ns=trip_ns, round_trip_cpus=[0, 1])
    made, row = cell("Preset/small", None, [SimpleNamespace(noise=noise)], n_layer=2)
    made.step_s, made.workers[0].started = step_s, "1970-01-01T00:16:40+00:00"
    return made, row


@pytest.mark.parametrize(("trip_ns", "reference_s", "far"), [(84.0, 0.04, 0.0), (335.0, 0.06, 1.0)])
def test_what_ran_alone_is_set_against_moments_while_the_cpus_lay_alike(trip_ns, reference_s, far):
    late = [Moment(1000 + NEAR_S + 1, 0.01, "near"), Moment(1000 + NEAR_S + 1, 0.01, "far")]
    near = [Moment(1000.0 + 9 * n, step_s, "near") for n, step_s in enumerate((0.03, 0.04, 0.05))]
    far_ones = [Moment(999.0 - n, step_s, "far") for n, step_s in enumerate((0.06, 0.06, 0.06))]
    places = Places((0, 1), from_ns=300.0, pairs={"near": 3, "far": 3})
    (ratio,) = ratios([alone(0.12, trip_ns)], [*near, *far_ones, *late], places)
    assert ratio.log_ratio == pytest.approx(math.log(0.12 / reference_s))
    assert ratio.far == far and not ratio.fits
    # Where it is not known where its CPUs were, what is nearest in time counts.
    (unknown,) = ratios([alone(0.12, None)], [*near, *far_ones, *late], places)
    assert unknown.log_ratio == pytest.approx(math.log(0.12 / 0.06))
    assert ratios([alone(0.12, trip_ns)], late, places) == []
