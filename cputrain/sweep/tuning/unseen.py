"""What a race in smaller micro-batches does not see: fresh memory that whole ones take."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from cputrain.experiment import Experiment
from cputrain.model import fresh, on_paper
from cputrain.sweep.tuning.reduced import AsRun


def seconds(
    experiments: Iterable[Experiment],
    as_run: AsRun,
    page_s: Callable[[bool], float],
) -> list[float]:
    """Seconds of a step of each, reckoned, that the race does not run.

    Args:
        experiments: as they are, settled.
        as_run: what stands for one in the race.
        page_s: of a page of fresh memory (`machine.fresh_memory`); asked where there are some,
            once for each kind of page.
    """
    of_kind = functools.cache(page_s)
    counts = [
        (each.system.huge_pages == "madvise", pages(each, as_run(each))) for each in experiments
    ]
    return [count * of_kind(is_huge) if count else 0.0 for is_huge, count in counts]


def pages(whole: Experiment, run: Experiment) -> int:
    """Pages that fault in a step of whole micro-batches, and not in the smaller ones of `run`.

    Arrays of 32 MiB and more are mapped anew in each step (`model.fresh`), smaller ones are not.
    Known of engines that ask for each array by itself, of glibc, and of logits that are made at
    once. glibc with its thresholds raised keeps all; another allocator is taken to be like glibc,
    so that it gains nothing by this.
    """
    is_kept = whole.system.allocator == "glibc_thresholds"
    is_chunked = whole.runtime.loss_chunk is not None
    if is_kept or is_chunked or on_paper.of(whole).allocates != "arrays":
        return 0
    return max(0, fresh.pages(whole) - fresh.pages(run))
