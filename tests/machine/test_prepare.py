"""Which peaks a sweep measures."""

import json
from pathlib import Path

import pytest

pytest.importorskip("rich")

from cputrain import paths, plan, prepare, progress
from cputrain.experiment import Experiment
from cputrain.machine import peak

ONE = Experiment().but(cores=1, threads=1)


def cells(*experiments):
    return [plan.Cell((i,), experiment, None) for i, experiment in enumerate(experiments)]


def test_peaks_are_those_of_the_types_that_are_multiplied():
    assert prepare.peaks_needed(cells(ONE, ONE.but(precision="q4"))) == {"fp32": {1}}
    found = prepare.peaks_needed(cells(ONE.but(precision="bf16"), ONE.but(precision="q8")))
    assert found == {"bf16": {1}, "int8": {1}, "fp32": {1}}


def test_more_threads_than_cores_have_no_peak():
    assert prepare.peaks_needed(cells(ONE.but(threads=64))) == {}


def test_what_is_known_is_not_measured_again(own_root):
    path = paths.RESULT / "here" / "machine.json"
    path.parent.mkdir(parents=True)
    nobody = Path("/nowhere/python")  # whoever measures fails
    path.write_text(json.dumps({"fp32_matmul_flops": {"1": 9e10}}))
    prepare.measure_peak("here", nobody, cells(ONE), progress.Progress(1))
    with pytest.raises(OSError, match="nowhere"):
        prepare.measure_peak("here", nobody, cells(ONE.but(precision="q8")), progress.Progress(1))
    path.write_text(json.dumps({field: {"1": 9e10} for field in peak.FIELDS.values()}))
    prepare.measure_peak("here", nobody, cells(ONE.but(precision="q8")), progress.Progress(1))
    with pytest.raises(OSError, match="nowhere"):
        prepare.measure_peak("here", nobody, cells(ONE), progress.Progress(1), again=True)
