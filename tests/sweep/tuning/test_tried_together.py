"""Changes of different knobs that no race has told: which of them are tried together."""

import math
import random
from pathlib import Path

import pytest
from settled import settled
from simulated_workers import Simulated

from cputrain.engines import specs
from cputrain.experiment.presets import PRESETS
from cputrain.machine import library_search
from cputrain.record.tuning import Race, Raced
from cputrain.sweep.tuning.race import Racing
from cputrain.sweep.tuning.search import Search

pytestmark = pytest.mark.tools

DEFAULT = settled()


def race(knob, value, ratio, **more):
    """One change, a little faster by few blocks."""
    logs = [math.log(ratio)] * 2
    changes = {knob: value, **more}
    raced = Raced(label=f"{knob}={value}", changes=changes, outcome="raced", log_ratios=logs)
    return Race(knob=knob, reference=DEFAULT.to_json(), candidates=[raced])


@pytest.fixture
def together(tmp_path, monkeypatch):
    """The labels of what is tried after these races, and the sizes of micro-batches that ran."""
    library = tmp_path / "library.so"
    library.write_bytes(Path("/proc/self/exe").read_bytes()[:20])
    monkeypatch.setenv(library_search.VARIABLE, f"mimalloc={library}")

    def together(*races, default=DEFAULT):
        workers = Simulated(lambda e: 0.05)
        racing = Racing(workers, random.Random(0), workers.now, lambda: 1 << 40)
        search = Search(racing, workers, default, (), (), workers.now, lambda ran: None)
        search.races += races
        search.run([], until=600.0)
        assert not workers.alive
        sizes = {worker.experiment.training.batch_size for worker in workers.blocks}
        tried = [raced.label for ran in search.races[len(races) :] for raced in ran.candidates]
        return tried, sizes

    return together


MIMALLOC = race("allocator", "mimalloc", 0.970)
PAGES = race("huge_pages", "madvise", 0.975)
WAIT = race("wait_policy", "active", 0.980)
ATTENTION = race("attention_backend", "manual", 0.985)


def test_the_two_best_are_tried_and_all(together):
    tried, _ = together(PAGES, WAIT, ATTENTION)
    assert tried == [
        "huge_pages=madvise and wait_policy=active",
        "huge_pages=madvise and wait_policy=active and attention_backend=manual",
    ]


def test_one_that_cannot_be_beside_a_better_one_is_left_out_and_the_others_are_tried(together):
    """mimalloc takes the place of glibc, which alone asks for huge pages."""
    tried, _ = together(PAGES, MIMALLOC, WAIT, ATTENTION)
    assert tried == [
        "allocator=mimalloc and wait_policy=active",
        "allocator=mimalloc and wait_policy=active and attention_backend=manual",
    ]


def test_two_that_cannot_be_together_are_not_tried(together):
    assert together(PAGES, MIMALLOC) == ([], set())


def test_a_lone_change_has_had_its_race(together):
    assert together(WAIT) == ([], set())


def test_another_micro_batch_is_tried_as_large_as_it_is(together):
    """A micro-batch of `llm-25m` races whole, one of four of its sequences would race as two."""
    default = specs.settle(PRESETS["llm-25m"].experiment)
    larger = race("batch_size", 4, 0.96, grad_accum=4)
    tried, sizes = together(larger, WAIT, default=default)
    assert tried == ["batch_size=4 and wait_policy=active"]
    assert sizes == {2, 4}


def test_another_micro_batch_that_the_race_could_not_see_is_left_out(together):
    """`wiki-24m` races in micro-batches of fewer sequences."""
    default = specs.settle(PRESETS["wiki-24m"].experiment)
    smaller = race("batch_size", 8, 0.96, grad_accum=2)
    tried, _ = together(smaller, PAGES, WAIT, default=default)
    assert tried == ["huge_pages=madvise and wait_policy=active"]
