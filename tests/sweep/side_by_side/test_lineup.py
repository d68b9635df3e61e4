"""Which engines run side by side, and in which order."""

import itertools
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from found_suites import ALL
from settled import settled

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.run.names import INDUCTOR
from cputrain.sweep import plan
from cputrain.sweep.side_by_side import lineup


@pytest.fixture(scope="module")
def suites():
    return ALL


def by_values(blocks):
    return {cell.values: cell.experiment for block in blocks for cell in block.cells}


def test_the_experiments_are_the_suites_own(suites):
    experiments = by_values(lineup.blocks(suites, inductor=False))
    shapes = {planned.name: planned for planned in suites if planned.name in lineup.SHAPES}
    for shape, planned in shapes.items():
        for cell in planned.cells:
            mine = [
                e for (s, engine, _), e in experiments.items() if (s, engine) == (shape, cell.name)
            ]
            assert {e.but(cores=None) for e in mine} == {cell.experiment}
            assert {e.system.cores for e in mine} <= {1, None}
    engines = {engine for _, engine, _ in experiments}
    assert engines == {"torch", "jax", "numpy", "native", "native openblas", "ipex"}


def test_variants_are_a_value_with_changes(suites):
    experiments = by_values(lineup.blocks(suites, inductor=True))
    for (shape, engine, threads), experiment in experiments.items():
        if engine == INDUCTOR:
            assert experiment == experiments[shape, "torch", threads].but(compile="inductor")
        if engine == "native openblas":
            assert experiment.runtime.matmul_backend == "openblas"
    assert INDUCTOR in {engine for _, engine, _ in experiments}


COUNT = """
from cputrain.sweep import plan
from cputrain.sweep.side_by_side import lineup
for block in lineup.blocks(plan.survey()[0], False):
    print(block.name, block.cells[0].values[2], block.cells[0].experiment.system.cores)
"""


def test_where_all_cores_are_one_it_runs_once():
    one_cpu = {min(os.sched_getaffinity(0))}
    done = subprocess.run(
        [sys.executable, "-P", "-c", COUNT],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(paths.PROJECT)},
        preexec_fn=lambda: os.sched_setaffinity(0, one_cpu),
    )
    assert done.stdout.splitlines() == ["Framework 1 1", "FrameworkLarger 1 1"]


def made(shape, threads, engines):
    cells = tuple(plan.PlannedCell((shape, name, threads), settled(), None) for name in engines)
    return plan.Planned("", "", object, cells)


BLOCKS = [made(shape, n, ("torch", "numpy", "native", "jax")) for shape in "AB" for n in (1, 2)]


def test_in_each_round_every_cell_runs_once_and_a_block_stays_together():
    turns = list(lineup.turns(BLOCKS, 3, seed=5))
    assert [turn.place for turn in turns] == list(range(1, 49))
    for number in (1, 2, 3):
        mine = [turn.cell.values for turn in turns if turn.round == number]
        assert sorted(mine) == sorted(c.values for block in BLOCKS for c in block.cells)
        blocks = [(values[0], values[2]) for values in mine]
        changes = sum(block != following for block, following in itertools.pairwise(blocks))
        assert changes == len(BLOCKS) - 1
    assert len({turn.block for turn in turns}) == 3 * len(BLOCKS)


def test_torch_of_its_block_runs_beside_each_cell():
    blocks = [made(shape, 1, ("numpy", "torch")) for shape in "AB"]
    other = replace(blocks[1].cells[1], experiment=settled(seq_len=64))
    blocks[1] = replace(blocks[1], cells=(blocks[1].cells[0], other))
    for turn in lineup.turns(blocks, 2, seed=1):
        assert turn.reference.training.seq_len == (64 if turn.cell.values[0] == "B" else 256)


def order(seed, rounds=3):
    return [turn.cell.values for turn in lineup.turns(BLOCKS, rounds, seed)]


def test_the_order_is_the_seed_s():
    assert order(5) == order(5) != order(6)
    assert order(5, rounds=2) == order(5)[:32]
    rounds = [order(5)[i : i + 16] for i in (0, 16, 32)]
    assert rounds[0] != rounds[1] != rounds[2]
    assert len({order(seed, 1)[0][1] for seed in range(40)}) == 4, "someone always comes first"


def test_a_shape_that_is_not_there_is_named(suites):
    with pytest.raises(UsageError, match="no suite Framework"):
        lineup.blocks([], inductor=False)
    without = [replace(p, cells=p.cells[1:]) if p.name == "Framework" else p for p in suites]
    with pytest.raises(UsageError, match="Framework has no value 'torch'"):
        lineup.blocks(without, inductor=False)
