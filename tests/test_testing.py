"""Which tests run where, by the places that somebody asks for."""

import pytest

from cputrain.commands import test
from cputrain.commands.test import BOTH, OF_IPEX, TOOLS_ONLY

TOOLS = (*TOOLS_ONLY, *BOTH)


@pytest.mark.parametrize(
    ("asked", "stack", "tools", "ipex"),
    [
        ([], ["tests"], list(TOOLS), list(OF_IPEX)),
        (["tests/sweep"], [], ["tests/sweep"], []),
        (["tests/machine"], ["tests/machine"], ["tests/machine"], []),
        (["tests/engines"], ["tests/engines"], [], list(OF_IPEX)),
        (["tests/test_rules.py::test_x"], ["tests/test_rules.py::test_x"], [], []),
        (["tests/results/test_tables.py"], [], ["tests/results/test_tables.py"], []),
    ],
)
def test_a_place_runs_where_its_libraries_are(asked, stack, tools, ipex):
    assert test.without(asked, TOOLS_ONLY) == stack
    assert test.within(asked, TOOLS) == tools
    assert test.within(asked, OF_IPEX) == ipex


def test_places_are_told_from_other_words():
    words = ["-x", "tests/sweep", "-k", "tests_of", "tests/test_testing.py::test_x", "tests/gone"]
    places, others = test.split(words)
    assert places == ["tests/sweep", "tests/test_testing.py::test_x"]
    assert others == ["-x", "-k", "tests_of", "tests/gone"]


def test_every_folder_is_there():
    assert all((test.PROJECT / folder).is_dir() for folder in (*TOOLS, *OF_IPEX))
