"""torch's thread counts: set before any work, read back, and shown by the threads at work."""

import pytest
from settled import settled

pytest.importorskip("torch")

from openmp_process import failed, plain

from cputrain.engines.torch_.knobs.threads import TorchThreads, mkl_threads

INTRA, INTER = "torch.get_num_threads(), as set", "torch.get_num_interop_threads()"
MKL = "mkl_get_max_threads()"


def test_counts_that_were_not_set_are_found():
    readings = {
        "intra_op_threads": 1,
        "inter_op_threads": 2,
        "parallel_info": "\tmkl_get_max_threads() : 4\n",
    }
    experiment = settled(intra_op_threads=3, inter_op_threads=3)
    checks = TorchThreads().checks(experiment, None, readings)
    assert {check.name: (check.actual, check.ok) for check in checks} == {
        INTER: (2, False),
        INTRA: (1, False),
        MKL: (4, False),
    }
    assert TorchThreads().checks(settled(), None, readings) == []


def test_a_torch_without_mkl_is_not_asked_for_its_threads():
    assert mkl_threads("ATen/Parallel:\n\tat::get_num_threads() : 2\n") is None


def test_a_process_that_was_never_told_is_found():
    intra, inter = plain()["torch"]
    assert INTRA in failed(intra)
    assert MKL not in intra or MKL in failed(intra)
    assert failed(inter) == {INTER}
