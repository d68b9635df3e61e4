"""Runs of some suites: each engine that they measure has a pair of identical workers."""

import pytest
from found_suites import ALL

from cputrain.run import stacks
from cputrain.sweep import noise_cells
from cputrain.sweep.choice import choose
from cputrain.sweep.selection import Choice
from cputrain.sweep.suites import Sweep

pytestmark = pytest.mark.tools


def completed(*regexes, quick=False, known=ALL, ipex=False):
    """The cells of Baseline in a run, and its suites."""
    suites, added = noise_cells.complete(choose(ALL, regexes or None, quick, ipex), known)
    of_baseline = [cell.values for p in suites for cell in p.cells if p.name == "Baseline"]
    assert {cell.values for cell in added} <= set(of_baseline)
    return of_baseline, [planned.key for planned in suites]


def test_where_engines_are_compared_each_has_one():
    cells, suites = completed(r"\.Framework\.")
    assert cells == [("A", "jax"), ("A", "native"), ("A", "numpy")]
    assert suites == ["Baseline", "Framework"]


def test_ipex_has_one_in_its_own_environment():
    if stacks.why_no_ipex() is not None:
        pytest.skip("IPEX cannot be on this machine")
    cells, suites = completed(r"\.Framework\..*'ipex'", ipex=True)
    assert cells == [("A", "ipex"), ("A", "torch")]
    assert suites == ["Baseline on ipex", "Baseline", "Framework on ipex"]


def test_a_suite_s_own_baseline_cell_will_do():
    assert completed(r"\.SeqLen\.") == ([], ["SeqLen"])


def test_without_it_there_is_one_of_its_engine():
    assert completed(r"SeqLen.*\(2048, 'torch'\)") == ([("A", "torch")], ["Baseline", "SeqLen"])


def test_the_engine_of_what_runs_beside_a_cell_needs_one_too():
    """Own C's products with OpenBLAS are measured beside torch."""
    cells, _ = completed(r"\.MatmulBackend\..*'native-openblas'")
    assert cells == [("A", "torch"), ("A", "native")]


def test_what_was_asked_of_baseline_is_in_the_same_suite():
    """asv has one name for all of a suite's cells, so a call runs it once."""
    cells, suites = completed(r"\.Framework\.", r"Baseline.*'native'")
    assert cells == [("A", "native"), ("B", "native"), ("A", "jax"), ("A", "numpy")]
    assert suites == ["Baseline", "Framework"]


@pytest.mark.parametrize("quick", [False, True])
def test_a_run_of_everything_has_them(quick):
    suites, added = noise_cells.complete(choose(ALL, None, quick), ALL)
    assert added == [] and suites == choose(ALL, None, quick)


def test_what_runs_beside_nothing_needs_none():
    assert completed(r"\.JitWarmup\..*'cold', 'torch'") == ([], ["JitWarmup"])


def test_a_project_whose_baseline_suite_was_removed_has_none():
    known = [planned for planned in ALL if planned.name != "Baseline"]
    assert completed(r"\.Framework\.", known=known) == ([], ["Framework"])


def test_a_sweep_takes_them_and_says_so():
    sweep = Sweep(Choice(regexes=[r"\.Framework\."]))
    assert [planned.name for planned in sweep.choose()] == ["Baseline", "Framework"]
    said = noise_cells.line(sweep.noise_cells)
    assert said.startswith("Baseline is measured too (jax, native, numpy): ")
    assert noise_cells.line([]) is None
