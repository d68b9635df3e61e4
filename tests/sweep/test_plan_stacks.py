"""Sweeps over two environments: what is chosen, kept and said; no environment is built here."""

import re
from dataclasses import replace

import pytest
from found_suites import ALL

from cputrain.commands import cli, listing
from cputrain.errors import UsageError
from cputrain.run import stacks
from cputrain.run.session import Session
from cputrain.sweep import checkpoint
from cputrain.sweep.calls import Call
from cputrain.sweep.checkpoint import SweepCheckpoint
from cputrain.sweep.choice import choose, only_ipex

IPEX_CELLS = {"Baseline": ["A-ipex"], "Framework": ["ipex"], "FrameworkLarger": ["ipex"]}
IPEX_CELLS["IpexKernels"] = ["fp32", "fp32_auto", "bf16", "bf16_auto"]


def named(suites):
    return {planned.key: [cell.name for cell in planned.cells] for planned in suites}


def test_without_the_flag_ipex_s_cells_are_no_part_of_any_pattern():
    chosen = choose(ALL, None, quick=False)
    assert {planned.stack for planned in chosen} == {stacks.MAIN}
    assert all("ipex" not in Call((planned,)).pattern().lower() for planned in chosen)
    assert named(choose(ALL, [r"\.Framework\."], quick=False)) == {
        "Framework": ["torch", "jax", "numpy", "native"]
    }


def test_with_it_a_suite_comes_once_for_each_environment():
    chosen = choose(ALL, None, quick=False, ipex=True)
    also = {p.name: [cell.name for cell in p.cells] for p in chosen if p.stack == stacks.IPEX}
    assert also == IPEX_CELLS
    assert [p for p in chosen if p.stack == stacks.MAIN] == choose(ALL, None, quick=False)
    assert len({planned.key for planned in chosen}) == len(chosen)
    (planned,) = [p for p in chosen if p.key == "Framework on ipex"]
    assert re.fullmatch(Call((planned,)).pattern(), "framework.Framework.time_train_steps('ipex')")
    assert not re.fullmatch(
        Call((planned,)).pattern(), "framework.Framework.time_train_steps('torch')"
    )
    order = [planned.name for planned in chosen]
    assert order.index("Framework") + 1 == len(order) - order[::-1].index("Framework") - 1


def test_only_ipex_takes_the_flag():
    assert cli.parse(["--ipex"]).ipex and not cli.parse([]).ipex
    assert named(choose(ALL, ["Ipex"], quick=False, ipex=True)) == {
        "IpexKernels on ipex": IPEX_CELLS["IpexKernels"]
    }
    with pytest.raises(UsageError, match="'Ipex' matches cells of IPEX's environment only: add"):
        choose(ALL, ["Ipex"], quick=False)
    with pytest.raises(UsageError, match="no suite matches 'Nonesuch'"):
        choose(ALL, ["Nonesuch"], quick=False, ipex=True)
    assert named(only_ipex(ALL, ["SeqLen", "Larger"], False)) == {
        "FrameworkLarger on ipex": ["ipex"]
    }
    assert only_ipex(ALL, ["SeqLen"], False) == only_ipex(ALL, ["Nonesuch"], False) == []


def runnable(planned):
    """As if this machine could run everything."""
    return replace(planned, cells=tuple(replace(cell, why_not=None) for cell in planned.cells))


def test_quick_takes_ends_and_middle_of_what_runs():
    suites = [runnable(planned) for planned in ALL if planned.name in IPEX_CELLS]
    without = named(choose(suites, ["."], quick=True))
    assert without["Framework"] == ["torch", "numpy", "native"]
    both = named(choose(suites, ["."], quick=True, ipex=True))
    assert (both["Framework"], both["Framework on ipex"]) == (["torch", "numpy"], ["ipex"])
    assert both["IpexKernels on ipex"] == ["fp32", "bf16", "bf16_auto"]


def test_another_engine_than_ipex_has_no_cell_that_ipex_s_environment_runs():
    for planned in ALL:
        for cell in planned.cells:
            assert cell.why_not is None or "environment of its own" not in cell.why_not
            assert (cell.stack == stacks.IPEX) == (cell.experiment.runtime.engine == "ipex")


def test_a_stopped_sweep_goes_on_environment_by_environment(tmp_path):
    session = Session.from_env({})

    def wanted(ipex):
        suites = choose(ALL, ["Framework"], False, ipex)
        return checkpoint.wanted(session, None, suites)

    path = tmp_path / "sweep.json"
    state = SweepCheckpoint.open(path, wanted(True), fresh=False).after(["Framework"])
    assert SweepCheckpoint.open(path, wanted(True), fresh=False).done == ("Framework",)
    state = state.after(["Framework on ipex"])
    assert SweepCheckpoint.open(path, wanted(True), fresh=False).done == (
        "Framework",
        "Framework on ipex",
    )
    assert SweepCheckpoint.open(path, wanted(False), fresh=False).done == ()


def test_the_list_says_what_the_flag_adds():
    lines = listing.lines(ALL)
    (at,) = [i for i, line in enumerate(lines) if line.startswith("  IpexKernels ")]
    assert lines[at + 1].startswith(("    with --ipex: fp32, fp32_auto", "    nothing runs here"))
    if stacks.why_no_ipex() is None:
        assert "    with --ipex: ipex" in lines and "run with --ipex only" in lines[-1]
