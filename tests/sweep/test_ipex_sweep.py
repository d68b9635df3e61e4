"""The real program where a suite needs IPEX's environment, which --offline cannot build."""

import json
import os

import pytest

pytest.importorskip("asv")

from cputrain.errors import RunError
from cputrain.run import stacks
from cputrain.sweep import asvenv, choice, environments, plan

pytestmark = pytest.mark.tools

SUITES = '''
"""Trial suites of two environments."""

from cputrain.run import suite


class Both(suite.Suite):
    """Engines."""

    values = ("torch", "ipex")
    name = "engine"

    def vary(self, base, value):
        few = {"steps": 3, "tries": 1, "warm_up_steps": 2}
        return base.but(n_layer=1, n_embd=64, seq_len=32, engine=value, **few)
'''
NOWHERE = {"PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"}


@pytest.fixture
def both(trial):
    """A trial with one suite, and a record of its IPEX cell that must outlive it."""
    (trial.suites / "trial.py").write_text(SUITES)
    trial.env |= NOWHERE
    status, out = trial.run()
    assert status == 0, out
    assert "--ipex adds 1 cell in an environment" in out or stacks.why_no_ipex() is not None
    assert "1 suite, 1 cell, about" in out
    assert not (trial.output / "Both" / "ipex").exists()
    path = trial.output / "Both" / "ipex" / "run.json"
    path.parent.mkdir()
    record = trial.record("Both/torch")
    record["key"]["values"] = ["ipex"]
    path.write_text(json.dumps(record))
    return trial


def test_a_sweep_without_the_flag_leaves_ipex_s_results(both):
    before = (both.output / "Both" / "ipex" / "run.json").read_bytes()
    status, out = both.run("--fresh")
    assert status == 0, out
    assert (both.output / "Both" / "ipex" / "run.json").read_bytes() == before
    assert len(both.record("Both/torch")["workers"]) == 2
    status, out = both.run("--bench", r"Both.*ipex")
    assert status == 2 and "cells of IPEX's environment only: add --ipex" in out


def test_where_it_cannot_be_built_the_others_run_and_it_goes_on_there(both):
    ipex = asvenv.Asv("full", both.output.name, stacks.IPEX)
    if ipex.python().exists():
        pytest.skip("IPEX's environment is here: nothing to fail")
    status, out = both.run("--ipex", "--fresh")
    assert status == 1, out
    assert "IPEX's cells are left out: " in out and "Traceback" not in out
    assert len([line for line in out.splitlines() if "IPEX's cells" in line]) == 1
    assert "left out for lack of time" not in out
    assert not ipex.python().parent.parent.exists()
    assert len(both.record("Both/torch")["workers"]) == 2
    assert both.record("Both/torch")["workers"][-1]["status"] == "ok"
    state = json.loads((both.folder / ".asv" / "sweep-full.json").read_text())
    assert (state["done"], state["finished"]) == (["Both"], False)

    status, out = both.run("--ipex")
    assert status == 1 and "going on where the last run stopped" in out
    assert len(both.record("Both/torch")["workers"]) == 2


def test_the_disk_is_looked_at_first():
    suites = choice.only_ipex(plan.survey()[0], ["Ipex"], False)
    if not any(cell.why_not is None for planned in suites for cell in planned.cells):
        pytest.skip("IPEX cannot be on this machine")
    environments.require_free(1.6, free_bytes=3 * 10**9)
    with pytest.raises(RunError, match=r"needs 7.6 GB, .* while it is built, and 3.0 GB are free"):
        environments.require_free(7.6, free_bytes=3 * 10**9)
    line = environments.offer(suites, "full", "nobody", free_bytes=3 * 10**9)
    if "that is built" not in line:
        assert line.endswith("CUDA builds of torch; 3.0 GB are free")
        assert "GB are" not in environments.offer(suites, "full", "nobody", free_bytes=10**12)
    assert environments.offer([], "full", "nobody") == ""
