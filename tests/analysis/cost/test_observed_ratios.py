"""Which cells tell what an engine's steps cost."""

from types import SimpleNamespace

import pytest
from settled import settled

from cputrain.analysis.cost.observed import ratios

pytestmark = pytest.mark.tools


def sample(faults, steps=2):
    return SimpleNamespace(noise=SimpleNamespace(minor_faults=faults), step_s=[0.1] * steps)


def cell(name, baseline, samples=(), references=(), **fields):
    suite = name.split("/")[0]
    pairs = [SimpleNamespace(sample=i, reference=its_id) for i, its_id in enumerate(references)]
    worker = SimpleNamespace(experiment=settled(**fields).to_json(), samples=samples, pairs=pairs)
    key = SimpleNamespace(baseline=baseline)
    made = SimpleNamespace(
        name=name, suite=suite, key=key, ok=True, workers=(worker,), same_as=None
    )
    return made, {"effect": 0.5, "effect_low": 0.4, "effect_high": 0.6, "place": None}


def test_a_cell_beside_another_engine_tells_neither_engine_s_costs():
    """The reference's terms would be taken times the cell's own engine's coefficients."""
    cells = [
        cell("Framework/torch", "torch"),
        cell("Framework/native", "torch", engine="native"),
        cell("Depth/4-native", "4-native", engine="native"),
        cell("Depth/8-native", "4-native", engine="native", n_layer=8),
    ]
    assert [ratio.name for ratio in ratios(cells, {})] == ["Depth/8-native"]


def test_a_cell_that_reads_other_data_alone_tells_no_cost():
    cells = [
        cell("DatasetSize/1000", "1000"),
        cell("DatasetSize/300", "1000", rows=300),
        cell("SeqLen/128", "1000", seq_len=128),
    ]
    assert [ratio.name for ratio in ratios(cells, {})] == []


def test_pages_are_those_of_a_step_in_the_blocks_that_were_paired():
    own, beside = [sample(20), sample(60), sample(None)], [sample(8), sample(4, steps=1), sample(0)]
    cells = [cell("Depth/4", "4"), cell("Depth/8", "4", own, beside, n_layer=8)]
    (ratio,) = ratios(cells, {})
    assert (ratio.pages, ratio.reference_pages) == (20, 4)
    (unknown,) = ratios([cells[0], cell("Depth/2", "4", n_layer=2)], {})
    assert (unknown.pages, unknown.reference_pages) == (None, None)
