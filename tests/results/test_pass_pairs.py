"""How many pairs a further pass has, and how many of them are expected to count."""

import pytest
from msgspec import structs
from settled import settled

from cputrain.analysis.effects import analyse
from cputrain.analysis.noises import NoiseKey
from cputrain.analysis.paired.forecast import FEWEST_PAIRS
from cputrain.analysis.pass_pairs import FurtherPairs, of_cell
from cputrain.results import rows

pytestmark = pytest.mark.tools


def identical(project, spoilt=0, **changes):
    """Cells beside their own experiment; of each so many pairs others disturbed."""
    project.suite("Baseline", "copy", tuple("ABCD"))
    for copy in "ABCD":
        (worker,) = project.cell("Baseline", copy, 0.042, settled(), workers=1, **changes)
        disturbed = [structs.replace(block, disturbed=True) for block in worker.samples[:spoilt]]
        samples = [*disturbed, *worker.samples[spoilt:]]
        project.record("Baseline", copy, [worker.but(samples=samples)])
    cells, _ = rows.read(project.root, "here")
    return cells, analyse(cells, {})


def known(project, **changes):
    cells, analysis = identical(project, **changes)
    return of_cell(cells[0], analysis.pass_pairs)


def test_undisturbed_pairs_all_count(project):
    pairs = known(project, wall_s=60.0)
    assert pairs.taken == pairs.counting > FEWEST_PAIRS


def test_half_as_many_again_do_not_make_up_for_all_that_others_disturb(project):
    cells, analysis = identical(project, spoilt=2, wall_s=60.0)
    tried = len(cells[0].workers[0].pairs)
    pairs = of_cell(cells[0], analysis.pass_pairs)
    assert pairs.counting == round(pairs.taken * 1.5 * (tried - 2) / tried) < pairs.taken


def test_workers_that_took_less_than_their_blocks_leave_it_to_the_least(project):
    cells, analysis = identical(project, wall_s=0.001)
    assert not analysis.pass_pairs
    assert of_cell(cells[0], analysis.pass_pairs) == FurtherPairs(FEWEST_PAIRS, FEWEST_PAIRS)


def test_each_session_and_engine_has_its_own(project):
    cells, analysis = identical(project, wall_s=60.0)
    (key,) = analysis.pass_pairs
    assert key == NoiseKey(cells[0].workers[0].session, "torch")
