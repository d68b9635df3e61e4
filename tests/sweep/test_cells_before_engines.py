"""The cells of the time when engines had suites of their own: where each is now, or why nowhere.

`cells_before_engines.json` has, by suite: what it is called now, the values that its cells had and
have, what set their experiments apart from the baseline, and why some were dropped.
"""

import json
import os
from pathlib import Path

import pytest
from found_suites import ALL

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.run import placement, stacks

BEFORE = json.loads((Path(__file__).parent / "cells_before_engines.json").read_text())
USUAL = Experiment().but(compile="eager", attention_backend="sdpa", optimizer_kernel="fused")
"""What an experiment was where nothing was said, of every engine alike."""
MOST_CELLS = 280
"""That may run on two CPUs with gcc and clang."""


@pytest.fixture(scope="module")
def suites():
    return {planned.name: planned for planned in ALL}


def before():
    """Every cell: its suite's entry, its own, and the experiment that it ran."""
    for entry in BEFORE.values():
        for cell in entry["cells"]:
            yield entry, cell, specs.settle(USUAL.but(**cell["was"]))


def test_every_cell_of_before_is_in_the_map():
    counts = {name: len(entry["cells"]) for name, entry in BEFORE.items()}
    assert (sum(counts.values()), len(counts)) == (364, 74)
    assert len([name for name in counts if name.startswith("Jax")]) == 18


def test_each_that_is_kept_runs_the_same_work_where_it_ran(suites):
    kept = 0
    for entry, cell, experiment in before():
        if cell["now"] is None:
            continue
        kept += 1
        (now,) = [c for c in suites[entry["now"]].cells if c.values == (*cell["now"],)]
        where = entry["now"], now.name
        assert now.experiment.identity == experiment.identity, where  # budgets are others now
        why_not = placement.why_not(experiment, stacks.of(experiment))
        assert (now.why_not is None) == (why_not is None), where
        assert (now.baseline == now.name) == cell.get("baseline", False), where
    assert kept > 260


def test_each_that_is_not_is_gone_and_its_suite_says_why(suites):
    for entry, cell, experiment in before():
        if cell["now"] is None:
            assert entry["dropped"].strip()
            cells = suites[entry["now"]].cells
            assert experiment.identity not in [c.experiment.identity for c in cells]


def on_two_cpus(cell):
    """Whether two CPUs of one node and two compilers are all that a cell needs."""
    system, runtime = cell.experiment.system, cell.experiment.runtime
    return (
        (system.cores or 0) <= 2
        and (system.processes or 0) <= 2
        and system.affinity in ("default", "one_per_core")
        and system.numa_policy == "default"
        and (system.frequency_ghz, system.governor, system.turbo) == (None, "as_found", "as_found")
        and system.huge_pages != "always"
        and system.allocator not in ("jemalloc", "tcmalloc")
        and (runtime.engine, runtime.matmul_backend) not in (("numpy", "mkl"), ("native", "mkl"))
        and runtime.engine != "ipex"
    )


def test_the_cells_that_run_on_two_cpus_are_few_enough(suites):
    cells = [cell for planned in suites.values() for cell in planned.cells]
    assert sum(map(on_two_cpus, cells)) <= MOST_CELLS
    if len(os.sched_getaffinity(0)) <= 2:
        here = [cell for cell in cells if cell.why_not is None and cell.stack == stacks.MAIN]
        assert len(here) <= MOST_CELLS + 10  # what is installed beside the compilers
