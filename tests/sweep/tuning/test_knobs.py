"""The table of knobs: every candidate trains what the default trains, or says why it cannot be."""

import pytest
from settled import settled

from cputrain.engines import specs
from cputrain.experiment import Experiment, same_work
from cputrain.experiment.described import FIELDS
from cputrain.experiment.presets import PRESETS
from cputrain.machine.topology import Cpu, Topology
from cputrain.report import tuned
from cputrain.sweep.tuning import candidates, knobs, reduced

pytestmark = pytest.mark.tools

EXPERIMENTS = {"default": Experiment()} | {
    name: preset.experiment
    for name, preset in PRESETS.items()
    if preset.experiment.training.objective != "forward"
}


def all_of(best, allowed=()):
    for knob in knobs.table(allowed):
        can, cannot = candidates.of(knob, best, (), ())
        yield knob, can, cannot


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_candidate_trains_the_same(name):
    best = specs.settle(EXPERIMENTS[name])
    seen = 0
    for knob, can, _ in all_of(best, knobs.PROFITS):
        for candidate in can:
            seen += 1
            assert same_work.is_unchanged(candidate.experiment.to_json(), best.to_json()), (
                knob.name,
                candidate.label,
            )
            assert set(candidate.changes) <= set(FIELDS)
            run = reduced.reduced(candidate.experiment)
            assert same_work.is_unchanged(run.to_json(), best.to_json())
    assert seen > 5


def test_what_cannot_be_has_a_reason():
    best = specs.settle(PRESETS["mlm-80m-short"].experiment)
    refused = {r.label: r.reason for _, _, cannot in all_of(best) for r in cannot}
    assert "architecture = 'bert'" in refused["engine=native"]
    assert "has gpt only" in refused["engine=jax"]


def test_from_every_engine_there_is_a_way_to_every_other():
    for name in specs.NAMES:
        if not specs.of(name).is_raced:
            continue
        can, _ = candidates.of(knobs.table()[0], settled(engine=name), (), ())
        reached = {c.experiment.runtime.engine for c in can}
        others = {n for n in specs.NAMES if specs.of(n).is_raced and n != name}
        assert others <= reached


def test_a_batch_has_as_many_sequences_however_it_is_cut():
    best = settled(batch_size=2, grad_accum=6)
    (batches,) = [can for knob, can, _ in all_of(best) if knob.name == "micro-batch"]
    sizes = [c.experiment.training.batch_size for c in batches]
    assert sizes == [1, 3, 4]
    assert all(c.experiment.training.tokens_per_step == 12 * 256 for c in batches)


def test_a_long_micro_batch_races_in_smaller_ones_at_equal_tokens():
    best = specs.settle(PRESETS["wiki-24m"].experiment)
    run = reduced.reduced(best)
    assert run.training.tokens_per_step == best.training.tokens_per_step
    assert run.training.batch_size < 16 and run.budget.micro_batches == 1
    short = settled()
    assert reduced.reduced(short).training == short.training
    assert reduced.reduced(short).budget.micro_batches is None


@pytest.mark.parametrize("name", ["wiki-24m", "llm-25m"])
def test_an_engine_whose_micro_batches_tell_nothing_alone_races_in_whole_steps(name):
    best = specs.settle(PRESETS[name].experiment)
    beside = specs.settle(best.but(engine="jax", compile="xla", optimizer_kernel="fused"))
    for as_run in (reduced.reduced, reduced.composed):
        run = as_run(beside)
        assert run.training == beside.training and run.budget.micro_batches is None
        assert reduced.block_s(run) > 4 * reduced.block_s(reduced.reduced(best))
    assert reduced.start_s(reduced.reduced(beside)) > reduced.start_s(reduced.reduced(best)) + 10
    said = tuned.opening(600, reduced.reduced(best), best)
    assert said.endswith(
        "one of 8 micro-batches is run, the others are reckoned (jax: whole steps)"
    )
    assert "reckoned" not in tuned.opening(600, reduced.reduced(beside), beside)


def test_precision_is_tried_only_where_it_is_allowed():
    assert "precision" not in {knob.name for knob in knobs.table()}
    (_, can, _) = next(t for t in all_of(settled(), ("bf16",)) if t[0].name == "precision")
    assert [c.label for c in can] == ["precision=bf16"]


def test_what_is_kept_is_judged_by_what_an_engine_makes_of_it():
    engines = knobs.table()[0]
    assert engines.name == "engine"
    can, cannot = candidates.of(engines, settled(), ("compile",), ())
    assert {c.label for c in can} >= {"engine=native", "engine=native openblas"}
    assert all(c.experiment.runtime.compile == "eager" for c in can)
    refused = {raced.label: raced.reason for raced in cannot}
    assert refused["engine=jax"] == "would have compile xla, not eager, which is kept"
    can, cannot = candidates.of(engines, settled(), ("matmul_backend",), ())
    assert "engine=native openblas" not in {raced.label for raced in (*can, *cannot)}


@pytest.fixture
def hybrid(monkeypatch):
    """Two cores with two CPUs each, and four slow ones; what the knobs know of it is forgotten."""
    cpus = [Cpu(id, id // 2 * 2, 0, 0) for id in range(4)]
    cpus += [Cpu(id, id, 0, 0, is_efficient=True) for id in range(4, 8)]

    def read(allowed=range(8)):
        return Topology(tuple(cpu for cpu in cpus if cpu.id in allowed))

    monkeypatch.setattr(knobs, "read_topology", read)
    for known in (knobs._is_hybrid, knobs._thread_counts):
        known.cache_clear()
    yield
    for known in (knobs._is_hybrid, knobs._thread_counts):
        known.cache_clear()


def values(name, best):
    (knob,) = [knob for knob in knobs.table() if knob.name == name]
    return list(knob.values(best).values())


def test_on_a_hybrid_processor_the_fast_cores_are_tried_alone(hybrid):
    best = settled()
    assert values("kinds of cores", best) == [{"affinity": "performance_cores"}]
    assert [change["threads"] for change in values("threads", best)] == [8, 5, 3]
    fast = best.but(affinity="performance_cores")
    assert values("kinds of cores", fast) == [{"affinity": "default"}]
    assert [change["threads"] for change in values("threads", fast)] == [1]


def test_elsewhere_there_is_nothing_to_try_of_it(monkeypatch):
    knobs._is_hybrid.cache_clear()
    monkeypatch.setattr(knobs, "read_topology", lambda: Topology((Cpu(0, 0, 0, 0),)))
    assert values("kinds of cores", settled()) == []
    knobs._is_hybrid.cache_clear()
