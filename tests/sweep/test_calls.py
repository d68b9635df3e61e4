"""How a pass is cut into asv calls."""

import itertools
import re

import pytest
from found_suites import ALL

from cputrain.run import stacks
from cputrain.sweep.calls import CALL_S, Call, calls

pytestmark = pytest.mark.tools


def cut(suites, seconds):
    return [
        [planned.key for planned in call.suites]
        for call in calls(suites, {planned.key: seconds for planned in suites})
    ]


def test_suites_share_a_call_while_it_is_short():
    main = [planned for planned in ALL if planned.stack == stacks.MAIN][:6]
    assert [len(call) for call in cut(main, CALL_S / 3)] == [3, 3]
    assert [len(call) for call in cut(main, CALL_S * 2)] == [1] * 6
    assert sorted(key for call in cut(main, CALL_S / 3) for key in call) == sorted(
        planned.key for planned in main
    )


def test_what_is_missed_least_comes_last():
    (keys,) = cut(ALL, 0.1)
    places = {key: place for place, key in enumerate(keys)}
    quick = [p.key for p in ALL if p.suite.quick and p.stack == stacks.MAIN] + ["Baseline"]
    late = ["Preset", "Design"]
    same_work = ["OmpThreads", "ThreadPinning", "MatmulBackend", "HugePages", "GradAccumulation"]
    same_work += ["JitWarmup", "KernelFusion", "TorchCompile", "InductorCompiler"]
    sizes = ["Depth", "ModelSize", "Dropout", "Optimizer"]
    turns = [quick, [key for key in same_work if key not in quick], sizes, late]
    for earlier, later in itertools.pairwise(turns):
        assert max(places[key] for key in earlier) < min(places[key] for key in later)


def test_its_pattern_matches_its_cells_and_no_others():
    call = Call(tuple(ALL[:2]))
    names = {planned.asv_name(cell): planned for planned in ALL for cell in planned.cells}
    matched = {name for name in names if re.search(call.pattern(), name)}
    assert matched == {name for name, planned in names.items() if planned in call.suites}


@pytest.mark.parametrize(
    ("names", "engine"), [(["Compiler", "MatmulBackend"], "torch"), (["Compiler"], None)]
)
def test_what_its_forked_workers_need_first_can_be_told_before(names, engine):
    soon = Call(tuple(planned for planned in ALL if planned.name in names)).forked_soon()
    assert (soon and soon.runtime.engine) == engine
