"""Predictions of a made machine: what they never do, and what they refuse."""

import dataclasses
import math

import pytest
from made_costs import RATES, costs
from msgspec import structs
from settled import settled

from cputrain.analysis.cost import memory as cost_memory
from cputrain.analysis.cost.costs import DriftAt
from cputrain.analysis.cost.predict import apart, predict
from cputrain.analysis.cost.terms import least_s
from cputrain.engines import specs
from cputrain.errors import UsageError

pytestmark = pytest.mark.tools


@pytest.fixture(scope="module")
def machine():
    return costs()


def test_more_of_anything_takes_longer(machine):
    def take(**fields):
        return predict(settled(**fields), machine).seconds

    for name, values in {
        "n_layer": (1, 2, 4, 8, 16),
        "n_embd": (64, 128, 256, 512),
        "vocab_size": (257, 1000, 32_000, 33_000, 50_000),
        "seq_len": (64, 128, 500, 1024),
        "batch_size": (1, 2, 16, 64),
        "grad_accum": (1, 2, 3),
    }.items():
        seconds = [take(**{name: value}) for value in values]
        assert seconds == sorted(set(seconds)), name


def test_no_step_is_faster_than_its_products_at_the_measured_peak(machine):
    for fields in ({}, {"n_embd": 4096, "n_head": 64, "batch_size": 64}, {"n_layer": 100}):
        experiment = settled(**fields)
        prediction = predict(experiment, machine)
        assert prediction.seconds >= least_s(experiment, RATES)
        drifted = type(machine)(
            RATES.peak, RATES.bandwidth, RATES.threads, machine.engines, [DriftAt(60.0, 0.01, 1.2)]
        )
        low, high = predict(experiment, drifted).span(1)
        assert least_s(experiment, RATES) <= low < high


def test_while_the_cpus_lie_far_apart_a_large_product_costs_fewer_baseline_steps(machine):
    far = structs.replace(machine, far=1.0)
    wide, deep = settled(n_embd=1024, n_head=16), settled(n_layer=8)
    assert predict(wide, far).ratio < 0.95 * predict(wide, machine).ratio
    assert predict(deep, far).ratio == pytest.approx(predict(deep, machine).ratio, rel=0.1)


def test_far_apart_a_step_takes_as_much_longer_as_its_work_is_handed_out(machine):
    wide, usual = apart(settled(n_embd=1024, n_head=16), machine), apart(settled(), machine)
    assert 1.0 < wide < 1.02 < usual
    far, near = (predict(settled(), structs.replace(machine, far=x)).by_term for x in (1.0, 0.0))
    assert usual == pytest.approx(sum(far.values()) / sum(near.values()))


def test_how_much_longer_is_not_known_without_costs_or_a_formula(machine):
    assert apart(settled(), None) is None
    assert apart(settled(engine="jax"), machine) is None
    assert apart(settled(dropout=0.1, attention_backend="manual"), machine) is None


def test_seconds_are_as_uncertain_as_ratio_and_drift_together(machine):
    drift = [DriftAt(60.0, 1 / 1.1, 1.1), DriftAt(3600.0, 1 / 1.5, 1.5)]
    known = predict(
        settled(), type(machine)(RATES.peak, RATES.bandwidth, RATES.threads, machine.engines, drift)
    )
    for steps, factor in ((1, 1.1), (round(3600 / known.seconds), 1.5)):
        _, high = known.span(steps)
        half = math.hypot(known.half, math.log(factor))
        assert high == pytest.approx(known.seconds * math.exp(half))


def test_a_machine_that_is_slower_than_its_records_makes_no_interval_below_them(machine):
    drift = [DriftAt(3600.0, 1.1, 1.4)]
    known = predict(
        settled(), type(machine)(RATES.peak, RATES.bandwidth, RATES.threads, machine.engines, drift)
    )
    sure = dataclasses.replace(known, half=0.0, at_peak_s=0.0)
    assert sure.span(1) == pytest.approx((1.1 * known.seconds, 1.4 * known.seconds))


def test_what_no_cell_had_is_said_and_makes_the_interval_wider(machine):
    inside, outside = (predict(settled(n_layer=n), machine) for n in (6, 32))
    assert inside.outside == []
    assert "n_layer 32 (calibrated 1 to 8)" in outside.outside
    assert outside.half > inside.half
    other = predict(settled(activation="relu"), machine)
    assert other.outside == ["activation relu (calibrated gelu, swiglu)"]


def test_arrays_larger_than_any_that_was_measured_are_outside_though_no_size_is(machine):
    """Each size was measured, but not 1024 tokens with 32 000 logits, nor with ten heads."""
    fields = {"vocab_size": 32_000, "seq_len": 1024, "n_embd": 320, "n_head": 10}
    large = predict(settled(n_layer=1, mlp_ratio=1, **fields), machine)
    assert large.outside == [
        "million logits of a micro-batch 33 (calibrated 0.0329 to 25)",
        "million pairs of tokens in all heads 7.86 (calibrated 0.0041 to 3.15)",
    ]


def test_memory_that_other_cells_predict_badly_has_a_wider_interval(machine):
    time = machine.engines["torch"].time
    parts = structs.replace(
        time,
        coefficients=dict(cost_memory.PARTS),
        half=0.1,
        doubtful={"activation_checkpointing True": -0.2},
    )
    engine = structs.replace(machine.engines["torch"], memory=parts)
    known = structs.replace(machine, engines={"torch": engine})
    again, kept = (predict(settled(activation_checkpointing=on), known) for on in (True, False))
    (doubt,) = again.doubts
    assert doubt.startswith("memory of activation_checkpointing True (its cells are predicted 18 %")
    assert doubt.endswith(" too low)") and kept.doubts == []
    outside = 0.08  # no cell of the made machine recomputes, which counts as a doubling
    for prediction, half in ((again, 0.1 + outside + 0.2), (kept, 0.1)):
        low, high = prediction.memory_span
        assert high / prediction.memory_bytes == pytest.approx(math.exp(half))
        assert prediction.memory_bytes / low == pytest.approx(math.exp(half))


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"precision": "bf16"}, "precision = 'bf16': no cost of that is calibrated"),
        ({"architecture": "lstm"}, "architecture = 'lstm'"),
        ({"dropout": 0.1, "attention_backend": "manual"}, "dropout = 0.1"),
        ({"threads": 1}, "threads = 1"),
        ({"optimizer": "lion", "optimizer_kernel": "default"}, "optimizer = 'lion'"),
        ({"engine": "jax"}, "too few cells tell what its steps cost (calibrated: torch)"),
        (
            {"engine": "numpy"},
            "'numpy': no suite calibrates it (calibrated: torch); python3 bench.py project measure",
        ),
        (
            {"engine": "ipex"},
            "'ipex': no suite calibrates it (calibrated: torch); IPEX has an environment of its "
            "own, for suites: python3 bench.py run --ipex",
        ),
    ],
)
def test_what_has_no_cost_is_refused_with_what_to_do(machine, fields, line):
    with pytest.raises(UsageError) as caught:
        predict(settled(**fields), machine)
    assert line in str(caught.value) and "python3 bench.py" in str(caught.value)


@pytest.mark.parametrize("engine", specs.NAMES)
def test_only_of_engines_that_the_design_has_it_says_to_run_that(engine):
    from benchmarks.design import Design

    nothing = structs.replace(costs(), engines={})
    with pytest.raises(UsageError) as caught:
        predict(settled(engine=engine), nothing)
    is_there = engine in {cell[-1] for cell in Design.cells()}
    assert ("run --bench '^design'" in str(caught.value)) == is_there


def test_the_memory_that_the_machine_has_goes_with_a_prediction(machine):
    assert predict(settled(), machine).machine_bytes == 0
    assert predict(settled(), structs.replace(machine, memory=24 << 30)).machine_bytes == 24 << 30
