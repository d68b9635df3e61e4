"""A worker of `engines`: how many samples it takes."""

import pytest

pytest.importorskip("torch")

from cputrain import paths
from cputrain.experiment import Experiment
from cputrain.record.process import Turn
from cputrain.results import records
from cputrain.run import names, one_worker
from cputrain.run.session import Session
from cputrain.worker import blocks

SMALL = Experiment().but(n_layer=1, n_embd=32, seq_len=16, warm_up_steps=2, tries=1)
SMALL = SMALL.but(samples=3, steps=4)


def worker_of(engine):
    """Run one; its record."""
    values = ("Framework", engine, 1)
    one_worker.run(values, SMALL.but(engine=engine), Turn(round=1, place=1, seed=0))
    session = Session.from_env()
    folder = paths.output_folder(session.machine, session.mode) / names.SUITE
    (path,) = folder.glob("*/run.json")
    (worker,) = records.read_file(path, "here").workers
    assert worker.ok
    return worker


@pytest.mark.parametrize(("seconds", "samples"), [(1e9, 3), (0.0, 1)])
def test_long_steps_have_fewer_samples_of_as_many_steps(leased, monkeypatch, seconds, samples):
    monkeypatch.setattr(blocks, "ALONE_S", seconds)
    assert [len(sample.step_s) for sample in worker_of("numpy").samples] == [4] * samples


def test_torch_is_imported_by_the_worker_so_that_the_table_has_how_long_it_takes(leased):
    worker = worker_of("torch")
    assert worker.forked is False and worker.phases["import_s"] > 0.1
