"""Each rank's part of a step: all of them together have the whole of it, once."""

import pytest
from settled import settled

from cputrain.experiment import ExperimentError
from cputrain.model import shares


@pytest.mark.parametrize("size", range(1, 13))
@pytest.mark.parametrize("rows", range(1, 9))
@pytest.mark.parametrize("accum", [1, 2, 3, 4, 6])
def test_what_divides_is_shared_out_whole_and_what_does_not_is_refused(size, rows, accum):
    sizes = {"batch_size": rows, "grad_accum": accum, "processes": size}
    if rows * accum % size:
        with pytest.raises(ExperimentError, match="does not divide by it"):
            settled(**sizes)
        return
    experiment = settled(**sizes)
    by_rows, by_micro_batches = shares.parts(experiment, size)
    own = shares.of_rank(experiment, size).training
    assert by_rows * by_micro_batches == size
    assert own.batch_size * by_rows == rows and own.grad_accum * by_micro_batches == accum


def test_rows_are_shared_before_micro_batches():
    assert shares.parts(settled(batch_size=4, grad_accum=6), 2) == (2, 1)
    assert shares.parts(settled(batch_size=1, grad_accum=6), 2) == (1, 2)
    assert shares.parts(settled(batch_size=4, grad_accum=6), 12) == (4, 3)
