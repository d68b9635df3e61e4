"""How a pass is cut into asv calls."""

import re

import pytest

from cputrain.run import stacks
from cputrain.sweep import plan
from cputrain.sweep.calls import CALL_S, Call, calls

pytestmark = pytest.mark.tools

ALL = plan.discover()


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


def test_a_call_is_in_asv_s_order():
    (keys,) = cut(ALL[:5], 1.0)
    order = sorted(ALL[:5], key=lambda planned: planned.benchmark)
    assert keys == [planned.key for planned in order]


def test_its_pattern_matches_its_cells_and_no_others():
    call = Call(tuple(ALL[:2]))
    names = {planned.asv_name(cell): planned for planned in ALL for cell in planned.cells}
    matched = {name for name in names if re.search(call.pattern(), name)}
    assert matched == {name for name, planned in names.items() if planned in call.suites}
