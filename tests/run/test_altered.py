"""Demonstrations: what a fault does, what our checks say of it, and that it gets nowhere else."""

import os

import pytest

pytest.importorskip("torch")

from settled import settled

from cputrain import engines
from cputrain.data import feed
from cputrain.model.initial import initial_weights
from cputrain.record import altered as record
from cputrain.record import files
from cputrain.results import records
from cputrain.run import altered
from cputrain.run.session import Session
from cputrain.worker.altered.faults import FAULTS

SMALL = settled(n_layer=2, n_embd=64, seq_len=64, threads=1)
SMALL = SMALL.but(steps=4, warm_up_steps=8, warm_up_s=0.5)
SESSION = Session(id="s", run="r", machine="here", offline=True)


def demonstrate(name, experiment=SMALL, reference=SMALL, is_fault=True, blocks=2):
    request = altered.AlteredRequest(
        name=name,
        experiment=experiment.to_json(),
        reference=reference.to_json(),
        is_fault=is_fault,
        blocks=blocks,
    )
    return altered.run(request, SESSION)


def test_int8_that_does_not_train_is_found_out_and_its_loss_falls_all_the_same(own_root):
    made = demonstrate("untrained_int8", SMALL.but(precision="q8"))
    assert (made.status, made.reason) == ("ok", None)
    assert "gets no gradient" in made.altered.said["training"]
    assert "not the next token" in made.altered.said["targets"]
    assert made.altered.losses.last < made.altered.losses.first
    assert made.plain.said == made.reference.said == {}
    assert made.order == ["altered", "reference", "plain", "plain", "reference", "altered"]
    assert len(made.altered.blocks) == len(made.plain.blocks) == len(made.reference.blocks) == 2


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU cannot be left for another")
def test_a_leaked_mask_keeps_all_threads_on_one_cpu(own_root):
    made = demonstrate("leaked_mask", SMALL.but(threads=2), SMALL.but(threads=2))
    assert len(made.altered.cpus) == 1 and len(made.plain.cpus) > 1
    assert "what is in force" in made.altered.said and made.plain.said == {}
    assert made.altered.losses.last < made.altered.losses.first


def test_a_mask_over_full_attention_is_the_same_function_as_a_window(own_root):
    windowed = SMALL.but(attention="local", window=16)
    made = demonstrate("masked_window", windowed, SMALL)
    assert made.altered.losses.first == pytest.approx(made.plain.losses.first, rel=1e-5)
    assert made.altered.losses.first != pytest.approx(made.reference.losses.first, rel=1e-5)
    # It trains, and takes another time; the shapes of the profile give it away.
    assert made.altered.said == {
        "what is in force": "queries of a call of attention: asked for 16, found 64"
    }


def test_a_mask_of_causality_is_the_same_function(own_root):
    engine = engines.build(SMALL, initial_weights(SMALL))
    batch = feed.open_feed(SMALL, own_root / "data", offline=True).first
    before = engine.loss(batch)
    fault = FAULTS["masked_sdpa"]
    assert fault.keeps
    fault.alter(engine, SMALL)
    masks = {id(block.attn._mix.args[0]) for block in engine._model.h}
    assert len(masks) == 1 and engine.loss(batch) == pytest.approx(before, rel=1e-5)


def test_a_silent_fallback_is_eager_and_our_checks_say_so(own_root):
    made = demonstrate("silent_fallback", SMALL.but(compile="inductor"), is_fault=False)
    assert made.status == "ok" and "what is in force" in made.altered.said
    assert made.altered.losses.last < made.altered.losses.first

    # It has a record of its own, that no suite reads.
    assert made.plain is None
    where = record.path(own_root / "output", "here", "silent_fallback")
    assert files.read(where, record.Altered, record.SCHEMA) == made
    assert not list((own_root / "output").rglob("run.json"))
    assert records.machines(own_root) == ([], [])


def test_what_cannot_run_here_is_skipped_with_the_reason(own_root):
    made = demonstrate("leaked_mask", SMALL.but(cores=4096))
    assert made.status == "skipped" and "4096" in made.reason
