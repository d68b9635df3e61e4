"""What a race in smaller micro-batches does not see is reckoned, and counts."""

import random

import pytest
from settled import settled
from simulated_workers import Simulated

from cputrain.engines import specs
from cputrain.experiment.presets import PRESETS
from cputrain.model import fresh
from cputrain.report import tuned, words
from cputrain.sweep.tuning import reduced, unseen
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.race import Racing

pytestmark = pytest.mark.tools

WIKI = specs.settle(PRESETS["wiki-24m"].experiment)
KEPT = WIKI.but(allocator="glibc_thresholds")


def test_logits_that_are_large_in_whole_micro_batches_alone_are_unseen():
    run = reduced.reduced(WIKI)
    assert run.training.batch_size < WIKI.training.batch_size
    logits = 4 * WIKI.training.batch_size * WIKI.training.seq_len * WIKI.model.vocab_size
    pages = unseen.pages(WIKI, run)
    assert pages == fresh.pages(WIKI) - fresh.pages(run)
    assert 3 * logits / 4096 < pages < 4 * logits / 4096  # less what the smaller ones take
    assert unseen.pages(WIKI, WIKI) == 0


def test_nothing_is_unseen_of_who_keeps_its_memory_or_is_not_known():
    native = specs.settle(WIKI.but(engine="native", compile=None, attention_backend=None))
    jax = specs.settle(WIKI.but(engine="jax", compile=None, attention_backend=None))
    for whole in (KEPT, native, jax, WIKI.but(loss_chunk=512)):
        assert unseen.pages(whole, reduced.reduced(whole)) == 0


def test_another_allocator_gains_nothing_by_it():
    other = WIKI.but(allocator="mimalloc")
    expected = unseen.pages(WIKI, reduced.reduced(WIKI))
    assert unseen.pages(other, reduced.reduced(other)) == expected > 0


def test_a_page_is_measured_once_of_each_kind_and_where_some_are_unseen_alone():
    calls = []

    def page_s(is_huge):
        calls.append(is_huge)
        return 1e-6 if is_huge else 4e-6

    huge = WIKI.but(huge_pages="madvise")
    plain_s, kept_s, again_s, huge_s = unseen.seconds(
        [WIKI, KEPT, WIKI, huge], reduced.reduced, page_s
    )
    assert plain_s == again_s == pytest.approx(4 * huge_s) and kept_s == 0.0
    assert calls == [False, True]
    assert unseen.seconds([WIKI], reduced.composed, page_s) == [0.0] and len(calls) == 2


@pytest.mark.parametrize(("page_s", "is_won"), [(0.0, False), (4e-6, True)])
def test_what_smaller_micro_batches_do_not_show_decides_a_race(page_s, is_won):
    workers = Simulated(lambda e: 5.0, page_s=page_s, noise=0.01)
    racing = Racing(workers, random.Random(0), workers.now, lambda: 1 << 50)
    reference = workers.start(reduced.reduced(WIKI), 1e9)
    candidate = TuningCandidate("kept", {"allocator": "glibc_thresholds"}, KEPT)
    ran = racing.race("allocator", WIKI, reference, [candidate], 1e9, reduced.reduced)
    assert (ran.winner is candidate) == is_won
    (raced,) = ran.race.candidates
    unseen_s = page_s * unseen.pages(WIKI, reduced.reduced(WIKI))
    assert (raced.unseen_s, ran.race.unseen_s) == (0.0, pytest.approx(unseen_s))
    said = f"{words.seconds(unseen_s)} for memory that whole micro-batches take anew"
    assert (said in tuned.race(ran.race)[0]) == is_won


def test_small_models_race_whole():
    assert unseen.pages(settled(), reduced.reduced(settled())) == 0
