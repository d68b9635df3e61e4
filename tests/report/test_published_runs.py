"""Published figures beside measured ones."""

import re

import pytest

from cputrain.experiment.presets import PRESETS
from cputrain.model.shapes import n_params
from cputrain.report import presets
from cputrain.report.notes import note
from cputrain.results.columns import SCHEMA

pytestmark = pytest.mark.tools


def row(name, step_s=None, **others):
    experiment = PRESETS[name].experiment
    columns = dict.fromkeys(SCHEMA) | {"suite": "Preset", "value": name}
    columns |= {"mode": "full", "status": "ok", "step_s": step_s}
    if step_s:
        columns |= {"mfu": 0.25}
        columns |= {"tokens_per_s": experiment.training.tokens_per_step / step_s}
        columns |= {"gflop_per_s": 123.4, "peak_rss_bytes": 3 * 2**30}
    return columns | others


def test_ours_stands_beside_theirs():
    (line,) = presets.lines([row("mlm-80m", 2.0)], note)
    assert (line.preset, line.objective) == ("mlm-80m", "masked_node")
    assert line.parameters == "98.3 M / 80 M"
    assert line.step == "2.00 s"
    assert line.published == "4.55 s, 6.00 to 8.00 GB"
    assert line.ratio == "2.27x"  # 4.55 / 2
    assert (line.tokens, line.rate, line.memory) == ("1 020", "123 (25 %)", "3.00 GiB")
    assert line.hardware == "i5-1240P, 8 threads, 19 GB" and line.note == "20 steps in 91 s"


def test_each_machine_of_a_source_has_a_line_and_ours_stands_once():
    lines = presets.lines([row("llm-25m", 4.0)], note)
    assert [line.hardware for line in lines] == [
        "i5-8400",
        "i7-10700K, Ryzen 3700X",
        "Xeon E5-2680",
    ]
    assert [bool(line.step) for line in lines] == [True, False, False]
    assert [line.preset for line in lines] == ["llm-25m", "", ""]
    # 5 epochs of 2 088 628 tokens at 8 192 a step are 1 274.8 steps; 12 to 18 h.
    low, high = (hours * 3600 / 1274.8 / 4 for hours in (12, 18))
    ratios = [float(x) for x in re.findall(r"([\d.]+)x", lines[0].ratio)]
    assert ratios == [pytest.approx(low, rel=0.01), pytest.approx(high, rel=0.01)]


def test_a_reckoned_step_and_what_is_only_expected_say_so():
    reckoned = "sum of 2 micro-batches x 8 and the update"
    first, *_ = presets.lines([row("llm-117m", 30.0, composed=reckoned)], note)
    assert first.step.endswith("(reckoned)") and reckoned in first.note
    (short,) = presets.lines([row("mlm-80m-short", 1.0)], note)
    assert short.published == "1.14 s expected"


def test_without_a_figure_or_a_number_nothing_is_made_up():
    (tiny,) = presets.lines([row("forward-tiny", 0.01)], note)
    assert (tiny.published, tiny.ratio, tiny.hardware) == ("no figure", "", "not named")
    (failed,) = presets.lines([row("wiki-24m", status="out of memory", reason="killed")], note)
    assert (failed.step, failed.ratio, failed.tokens, failed.memory) == ("", "", "", "")
    assert failed.published == "75.0 s, 54.0 to 56.0 tokens/s, 2.10 GFLOP/s (1.4 %), 0.850 GB"
    assert failed.note == "out of memory: killed"
    assert failed.parameters.startswith(f"{n_params(PRESETS['wiki-24m'].experiment) / 1e6:.1f} M")


def test_only_where_a_preset_ran():
    assert (
        presets.lines([row("mlm-80m", mode=None, status="skipped", reason="not run")], note) == []
    )
    assert presets.lines([row("mlm-80m", 2.0) | {"suite": "SeqLen"}], note) == []
