"""Which cells there are in this clone, and what a run says of those that are gone."""

import pytest

from cputrain.sweep import declared, plan

pytestmark = pytest.mark.tools

LOST = "Gave no number: Bad preload"


def test_they_are_those_of_the_plan():
    planned, _ = plan.survey()
    assert declared.by_suite() == {p.name: {cell.name for cell in p.cells} for p in planned}


def test_a_value_that_was_taken_out_is_not_told_of_any_more(trial):
    """That of another machine's records still is."""
    status, out = trial.run("--bench", r"Bad.*\('(preload|good)'\)")
    assert status == 1 and LOST in out and "1 ok, 1 failed" in out, out
    here = trial.output
    for path in here.rglob("run.json"):
        other = here.with_name("other") / path.relative_to(here)
        other.parent.mkdir(parents=True)
        other.write_text(path.read_text().replace(here.name, "other"))
    file = trial.suites / "trial.py"
    file.write_text(file.read_text().replace('("preload", "slow"', '("slow"'))
    exported = trial.start("export")
    assert exported.wait(timeout=120) == 0, exported.stdout.read()
    page = (trial.folder / "result" / "README.md").read_text()
    own, _, others = page.partition("\n## other\n")
    assert here.name in own and LOST not in own and LOST in others
    assert "preload" in (trial.folder / "result" / here.name / "Bad.md").read_text()
