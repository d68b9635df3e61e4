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

SMALL = Experiment().but(engine="numpy", n_layer=1, n_embd=32, seq_len=16, warm_up_steps=2)
VALUES = ("Framework", "numpy", 1)


@pytest.mark.parametrize(("seconds", "samples"), [(1e9, 3), (0.0, 1)])
def test_long_steps_have_fewer_samples_of_as_many_steps(leased, monkeypatch, seconds, samples):
    monkeypatch.setattr(blocks, "ALONE_S", seconds)
    few = SMALL.but(steps=4, samples=3, tries=1)
    one_worker.run(VALUES, few, Turn(round=1, place=1, seed=0))
    session = Session.from_env()
    folder = paths.output_folder(session.machine, session.mode) / names.SUITE
    (path,) = folder.glob("*/run.json")
    (worker,) = records.read_file(path, "here").workers
    assert worker.ok and [len(sample.step_s) for sample in worker.samples] == [4] * samples
