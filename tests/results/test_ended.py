"""Cells whose process died are not silent."""

import pytest
from made_project import failure, worker

from cputrain.experiment import Experiment
from cputrain.results import ended

pytestmark = pytest.mark.tools

USUAL = Experiment()


def test_what_has_no_number_and_no_reason_is_named(project):
    def mine(**others):
        return worker(USUAL, [[1.0]], run="now", **others)

    cells = {
        1: [mine(id="a"), mine(id="b")],
        2: [mine(id="a"), mine(id="b", status="unproven")],
        3: [mine(id="a")],
        4: [failure(USUAL, "skipped", "no", run="now")],
        5: [mine(id="a"), failure(USUAL, "failed", "why", run="now")],
        6: [worker(USUAL, [[1.0]], run="earlier")],
    }
    for value, workers in cells.items():
        path = project.record("Suite", value, workers)
    broken = project.record("Suite", 8, [mine()])
    broken.write_text("{")
    names = [*map(str, cells), "7", "8"]
    missing = ended.without_number(path.parent.parent, "now", names, workers=2)
    assert list(missing) == ["2", "3", "6", "7", "8"]
    assert {missing[name] for name in ("2", "3", "6", "7")} == {ended.DIED}
    assert "not JSON" in missing["8"]
