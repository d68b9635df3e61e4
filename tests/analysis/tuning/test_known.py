"""What records say of single changes: those of the example, a whole run on one machine."""

import pytest
from settled import settled

from cputrain import paths
from cputrain.analysis import effects
from cputrain.analysis.tuning import known
from cputrain.analysis.tuning.known import Known
from cputrain.results import rows
from cputrain.sweep.tuning import candidates, knobs

pytestmark = pytest.mark.tools
EXAMPLE = paths.PROJECT / "example"


@pytest.fixture(scope="module")
def cells():
    (folder,) = (EXAMPLE / "output").iterdir()
    return rows.read(EXAMPLE, folder.name.removesuffix(".zip"))[0]


@pytest.fixture(scope="module")
def everything(cells):
    return known.known(effects.analyse(cells, {}))


def test_an_effect_is_known_by_the_fields_that_differ(everything):
    def told(**changes):
        return [each for each in everything if each.says(settled(**changes), settled())]

    (bf16,) = told(precision="bf16")
    assert bf16.low < bf16.value < bf16.high < 1
    assert told(optimizer_kernel="default")[0].low > 1
    # Whatever else an engine does by itself.
    assert told(engine="native")[0].value < 1
    assert not told(n_layer=2) and not told(precision="bf16", threads=1)


def test_of_another_engine_s_change_nothing_is_known(everything):
    native = settled(engine="native")
    changed = settled(engine="native", precision="fp32", pinning="close")
    assert all(each.engine == "native" for each in everything if each.says(changed, native))


def test_identical_passes_are_those_of_one_engine(cells):
    assert len(known.identical_passes(cells, "torch")) > 3
    assert known.identical_passes(cells, "nothing") == []


def test_what_is_known_to_be_far_slower_is_not_tried():
    (knob,) = (k for k in knobs.table() if k.name == "attention")
    slow = Known("torch", {"attention_backend": "manual"}, 1.6, 1.5, 1.7, True)
    can, (cannot,) = candidates.of(knob, settled(), (), [slow])
    assert not can and cannot.outcome == "known"
    assert cannot.reason == "1.60x [1.50, 1.70] in this machine's records"
    unsure = Known("torch", {"attention_backend": "manual"}, 1.6, 1.2, 1.9, True)
    (can,), cannot = candidates.of(knob, settled(), (), [unsure])
    assert can.known == unsure and not cannot
    untold = Known("torch", {"attention_backend": "manual"}, 1.6, 1.5, 1.7, False)
    (can,), cannot = candidates.of(knob, settled(), (), [untold])
    assert can.known == untold and not cannot


def test_a_record_counts_for_what_is_expected_by_how_exact_it_is():
    """As seen: one noisy pass of huge pages had them raced before all else, for two minutes."""
    noisy = Known("torch", {"huge_pages": "madvise"}, 0.81, 0.59, 1.10, False)
    assert noisy.expected(0.98) == pytest.approx(0.95, abs=0.01)
    exact = Known("torch", {"huge_pages": "madvise"}, 0.81, 0.79, 0.83, True)
    assert exact.expected(0.98) == pytest.approx(0.81, abs=0.01)


def test_a_cell_s_record_of_one_pass_tells_more_than_its_interval_s_tails_let_seem():
    """The ends of a few passes' interval are those of long tails: its middle is narrower."""
    one, many = (
        Known("torch", {"pinning": "close"}, 0.8, 0.7, 0.92, True, passes) for passes in (1, 20)
    )
    assert one.expected(1.0) < many.expected(1.0) < 1.0


def test_what_cells_say_is_known_with_their_passes(everything):
    assert all(each.passes is not None and each.passes >= 1 for each in everything)
