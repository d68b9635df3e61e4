"""Real workers under each allocator, and one whose preload is lost on the way."""

import json
import os
from pathlib import Path

import lease_here
import pytest
from settled import FEW_STEPS, settled

pytest.importorskip("torch")


from cputrain.experiment.system import ALLOCATORS
from cputrain.knobs.allocator import PRELOADED, Allocator
from cputrain.machine import library_search
from cputrain.record.cell import CellKey
from cputrain.run import fresh
from cputrain.run.cell import CellRun
from cputrain.run.failed import CellFailed

TINY = settled(n_layer=1, n_embd=64, seq_len=64, threads=1, **FEW_STEPS)


def run(allocator):
    """The record of a worker with this allocator."""
    experiment = TINY.but(allocator=allocator)
    reason = Allocator().why_not(experiment)
    if reason is not None:
        pytest.skip(reason)
    cell = CellRun(CellKey("Trial", (allocator,)), experiment)
    cell.sample()
    cell.settle()
    return json.loads((cell.folder / "run.json").read_text())["workers"][-1]


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_a_worker_trains_under_each_allocator_and_says_which_it_had(leased, allocator):
    record = run(allocator)
    assert record["status"] == "ok" and record["last_loss"] < record["first_loss"]
    name = f"allocator {allocator}: file that has malloc"
    (check,) = (check for check in record["in_force"] if check["name"] == name)
    if allocator in PRELOADED:
        assert check["found"] == os.path.realpath(library_search.find(allocator))
    else:
        assert Path(check["found"]).name.startswith("libc")


def test_a_preload_that_is_lost_is_a_failed_cell_and_no_number_of_glibc(
    own_root, here, monkeypatch
):
    honest = fresh.environment

    def lying(experiment, placement):
        return honest(experiment, placement) | {"LD_PRELOAD": "/nowhere/libtcmalloc.so"}

    lease_here.lie(monkeypatch, lying)
    with pytest.raises(CellFailed, match="asked for"):
        run("tcmalloc")


def test_a_worker_means_the_file_that_its_launcher_found(own_root, monkeypatch, tmp_path):
    """A given path reaches it, although it sees none of the caller's variables."""
    try:
        real = library_search.find("tcmalloc")
    except library_search.Missing as missing:
        pytest.skip(str(missing))
    own = tmp_path / "own.so"
    own.write_bytes(real.read_bytes())
    monkeypatch.setenv(library_search.VARIABLE, f"tcmalloc={own}")
    record = run("tcmalloc")
    (check,) = (check for check in record["in_force"] if "has malloc" in check["name"])
    assert check["found"] == str(own)
