"""What is said of a cell of which nothing is told though its interval leaves out 1."""

import re

import pytest
from made_project import at, change_sample, rows_of
from msgspec import structs

from cputrain.report import words
from cputrain.report.export import export

pytestmark = pytest.mark.tools


def of_one_pair(worker):
    for index in range(1, len(worker.samples)):
        change_sample(worker, index, disturbed=True)
    return worker


def beside_a_slow_reference(worker):
    """As seen: two of its three blocks took twice as long as the third, and as any before."""
    *slow, last = worker.pairs
    blocks = [structs.replace(p.reference, step_s=[0.084] * 10) for p in slow]
    doubled = [structs.replace(p, reference=b) for p, b in zip(slow, blocks, strict=True)]
    return worker.but(pairs=[*doubled, last])


@pytest.mark.parametrize(
    ("doubted", "time", "doubt"),
    [
        (of_one_pair, 1.5, "a single pair"),
        (lambda worker: worker.but(steady=False), 1.5, "it was not steady"),
        (beside_a_slow_reference, 1.3, "its reference was not steady"),
        (lambda worker: at(worker, 67.0, at_once=1.75), 1.5, "its CPUs lay elsewhere"),
        (lambda worker: worker, 1.05, "within the worst A/A pass"),
        (lambda worker: worker, 1.001, None),
        (lambda worker: worker, 1.5, None),
    ],
)
def test_tables_say_beside_the_interval_why_it_tells_nothing(project, doubted, time, doubt):
    project.suite("Baseline", "copy", tuple("ABCDEFGH"))
    for copy, off in zip("ABCDEFGH", (1.0,) * 7 + (1.06,), strict=True):
        (made,) = project.cell("Baseline", copy, 0.042 * off, workers=1)
        project.record("Baseline", copy, [at(made, 57.0)])
    project.suite("Heads", "n_head", (2, 4))
    project.cell("Heads", 4, 0.042, workers=1)
    (made,) = project.cell("Heads", 2, 0.042 * time, workers=1)
    project.record("Heads", 2, [doubted(at(made, 57.0))])
    project.save()
    row = rows_of(export(project.root), "Heads")["2"]
    assert row["doubt"] == doubt
    said = words.told(row)
    if doubt is None:
        assert "(" not in said
        return
    assert not row["effect_low"] < 1 < row["effect_high"]
    assert re.fullmatch(rf"not told \({doubt}\): about \d+ more pass(es)?", said)
    ends = [line for line in project.page().splitlines() if line.startswith("| 1 | [Heads]")]
    assert len(ends) == 1 and said in ends[0]
    assert f"| {said} |" in project.page_of("Heads")
