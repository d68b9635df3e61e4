"""From records of pairs to verdicts, page and table."""

import math
import re

import polars as pl
import pytest
from made_claims import PAIRS, verdicts
from made_project import change_sample
from markdown_it import MarkdownIt
from msgspec import structs

from cputrain.analysis.claims import judge, table
from cputrain.analysis.claims.evidence import CannotTell, ClaimEvidence, PairResult
from cputrain.analysis.claims.made import IDENTICAL
from cputrain.analysis.claims.rules import HOLDS, NOT, UNTOLD
from cputrain.record import files
from cputrain.record.altered import SCHEMA, Altered, path
from cputrain.report import claims
from cputrain.report.export import export

pytestmark = pytest.mark.tools


def test_without_records_every_claim_is_untold(tmp_path):
    judged = judge.judge(tmp_path, "here")
    assert judged.cells == [] and {verdict.verdict for verdict in judged.verdicts} == {UNTOLD}


def test_a_pair_decides_its_claim_and_leaves_the_others_untold(made):
    made.cell(PAIRS["mlm-80m-sequence_128"], 1 / 4)
    made.cell(PAIRS["mlm-80m-8_layers"], 1 / 3)
    told = verdicts(made)
    assert len(told) == 25
    assert (told["C1"].verdict, told["C2"].verdict, told["C3"].verdict) == (HOLDS, NOT, UNTOLD)
    assert told["C1"].decided.value == pytest.approx(4, rel=0.05)
    assert told["C1"].decided.low < 4 < told["C1"].decided.high
    assert "it was not measured yet" in told["C3"].why and told["C3"].decided is None


def test_an_effect_of_an_engine_without_noise_has_no_interval_and_tells_nothing(made):
    made.cell(PAIRS["baseline-jax"], 0.5)
    told = verdicts(made)["C22"]
    assert told.verdict == UNTOLD and told.why.endswith("no interval")
    made.cell(IDENTICAL[1], 1.0)
    assert verdicts(made)["C22"].verdict == NOT


def test_the_exponent_is_the_slope_of_time_over_parameters(made):
    (sizes,) = (claim.pairs for claim in (table.CLAIMS["C23"],))
    for power, word in ((1.0, HOLDS), (0.6, NOT)):
        for pair, params in zip(sizes, (100_000, 5_000_000, 25_000_000), strict=True):
            time = (params / 1_000_000) ** power
            counts = {"n_params": params}
            made.cell(pair, time, passes=6, counts=counts, reference_params=1_000_000)
        told = verdicts(made)["C23"]
        assert told.verdict == word
        assert told.decided.value == pytest.approx(power, abs=0.02)
        k = told.demonstrations[-1]
        # All first steps take 0.3 s here: in a mean of ten of 40 ms they hide the sizes.
        assert k.label.startswith("k with the first step") and k.value < power - 0.05


def test_models_of_one_size_have_no_slope(made):
    """As a record may say that comes from elsewhere."""
    for pair in table.CLAIMS["C23"].pairs:
        made.cell(pair, 1.5, counts={"n_params": 1_000_000}, reference_params=1_000_000)
    told = verdicts(made)["C23"]
    assert told.verdict == UNTOLD and "as many parameters as the reference's" in told.why
    assert not any(line.label.startswith("k with") for line in told.demonstrations)


def test_the_first_step_in_the_mean_is_reckoned_from_both_sides(made):
    made.cell(IDENTICAL[1], 1.0)
    phases = {"first_step_s": 3.0}
    made.cell(PAIRS["baseline-jax"], 0.5, phases=phases)
    (line,) = verdicts(made)["C22"].demonstrations
    expected = (3.0 + 9 * 0.02) / (0.3 + 9 * 0.04)
    assert line.value == pytest.approx(expected, rel=0.03) and line.value > 1


def test_a_demonstration_shows_the_factor_with_the_fault_and_without(made):
    what = table.CLAIMS["C17"].demonstration
    made.demonstration(what, altered=0.3, plain=1.4)
    with_fault, without = verdicts(made)["C17"].demonstrations
    assert with_fault.value == pytest.approx(0.3, rel=0.05) and with_fault.high < 1
    assert without.value == pytest.approx(1.4, rel=0.05) and without.low > 1
    assert "h.0.ln_1.weight gets no gradient" in with_fault.note
    assert "our checks accept it" in without.note
    assert verdicts(made)["C17"].verdict == UNTOLD  # a demonstration decides nothing


def test_a_broken_record_is_one_line_and_the_rest_is_judged(made):
    made.cell(PAIRS["mlm-80m-sequence_128"], 1 / 4)
    what = table.CLAIMS["C17"].demonstration
    broken = path(made.root / "output", "here", what.name)
    broken.parent.mkdir(parents=True)
    broken.write_text('{"schema": 1')
    other = made.root / "output" / "here" / "claims" / "mlm-80m-8_layers" / "run.json"
    other.parent.mkdir()
    other.write_text("[]")
    judged = judge.judge(made.root, "here")
    told = {verdict.id: verdict for verdict in judged.verdicts}
    assert {problem.path for problem in judged.problems} == {broken, other}
    assert told["C1"].verdict == HOLDS and told["C2"].verdict == UNTOLD
    assert told["C17"].demonstrations[0].note == "it was not run yet"


def test_the_page_has_every_claim_and_is_made_from_the_records_alone(made):
    made.cell(PAIRS["mlm-80m-sequence_128"], 1 / 4)
    made.demonstration(table.CLAIMS["C17"].demonstration, altered=0.3, plain=1.4)
    summary = export(made.root)
    page = made.root / "result" / "here" / claims.PAGE
    assert page in summary.files and summary.cells == 0  # no cell of a suite
    text = page.read_text()
    assert "1 holds, 0 do not hold, 24 cannot be told here" in text
    html = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    for number in range(1, 26):
        assert f'href="#c{number}"' in html and f"<h2>C{number}</h2>" in html
    assert "Demonstration, no result of ours" in text and "0.3" in text
    whole = (made.root / "result" / "here" / "report.html").read_text()
    assert "1 holds, 0 do not hold, 24 cannot be told here" in whole
    shown = re.findall("Demonstration, no result of ours: ([^<]*)", whole)
    ran = [text for text in shown if text.endswith("]")]
    assert len(ran) == 2 and all(re.search(r": \d\.\d+x \[", text) for text in ran)
    assert "(here/claims.md)" in (made.root / "result" / "README.md").read_text()
    page.unlink()
    export(made.root)
    assert page.read_text() == text


def test_the_table_has_a_row_for_each_claim(made):
    made.cell(PAIRS["mlm-80m-sequence_128"], 1 / 4)
    made.demonstration(table.CLAIMS["C17"].demonstration, altered=0.3, plain=1.4)
    export(made.root)
    rows = pl.read_csv(made.root / "result" / "here" / claims.TABLE).to_dicts()
    assert [row["id"] for row in rows] == list(table.CLAIMS)
    first, int8 = rows[0], rows[16]
    assert first["verdict"] == HOLDS and first["low"] < first["value"] < first["high"]
    assert math.isclose(int8["with_fault"], 0.3, rel_tol=0.05)
    assert math.isclose(int8["without_fault"], 1.4, rel_tol=0.05)


def faults(made, id):
    """What claims.csv has of a claim's demonstration."""
    row = claims.row("here", verdicts(made)[id])
    return row["with_fault"], row["without_fault"]


def test_a_faulty_side_without_a_number_has_none_in_the_table(made):
    what = table.CLAIMS["C17"].demonstration
    made.cell(PAIRS["mlm-80m-sequence_128"], 1 / 4)
    made.demonstration(what, altered=0.3, plain=1.4)
    where = path(made.root / "output", "here", what.name)
    whole = files.read(where, Altered, SCHEMA)
    hit = structs.replace(whole.altered, disturbed=[True] * 3)
    files.write(where, structs.replace(whole, altered=hit))
    assert faults(made, "C17") == (None, pytest.approx(1.4, rel=0.05))


def test_what_is_reckoned_beside_a_demonstration_is_neither_of_its_sides(made):
    (pair,) = table.CLAIMS["C21"].first_step.pairs
    made.cell(pair, 0.9, phases={"first_step_s": 3.0})
    assert verdicts(made)["C21"].demonstrations[-1].value > 1
    assert faults(made, "C21") == (None, None)
    made.demonstration(table.CLAIMS["C21"].demonstration, altered=1.0, plain=0.7)
    assert faults(made, "C21") == pytest.approx((1.0, 0.7), rel=0.05)


def test_what_is_reckoned_alone_is_the_number_with_the_fault(made):
    made.cell(PAIRS["baseline-jax"], 0.5, phases={"first_step_s": 3.0})
    with_fault, without = faults(made, "C22")
    assert with_fault > 1 and without is None


def test_blocks_that_others_disturbed_are_in_no_share_and_no_time(made):
    pair = PAIRS["path-2.5m-evaluation"]
    (quantity,) = table.CLAIMS["C25"].rule.quantities()[:1]
    workers = made.cell(pair, 1.0, passes=4, reference_s=0.01)
    for index in range(3):
        change_sample(workers[0], index, disturbed=True, step_s=[9.0])
    evidence = ClaimEvidence({pair.name: PairResult(workers=tuple(workers))})
    assert quantity.of(evidence).high < 1.0
    for index in range(2):
        change_sample(workers[1], index, disturbed=True)
    with pytest.raises(CannotTell, match="7 blocks were not disturbed, 8 are needed") as why:
        quantity.of(evidence)
    assert why.value.further_passes == 1


def test_seconds_are_of_any_minute_and_not_only_of_that_in_which_a_worker_ran(made):
    pair = PAIRS["path-2.5m-evaluation"]
    (quantity,) = table.CLAIMS["C25"].rule.quantities()[:1]
    workers = made.cell(pair, 1.0, passes=4, reference_s=0.01)
    known = quantity.of(ClaimEvidence({pair.name: PairResult(workers=tuple(workers))}))
    assert known.low < known.value / 1.27 and known.high > 1.27 * known.value
