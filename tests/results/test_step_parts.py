"""From the records of watched steps to the page and its table."""

import json

import msgspec
import polars as pl
import pytest
from made_project import failure, worker
from settled import settled

from cputrain.atomic import write_json
from cputrain.record import files
from cputrain.record.parts import PartsRecord
from cputrain.record.watched import WatchedSteps
from cputrain.report import parts as report
from cputrain.report.export import export
from cputrain.results.parts import machines

pytestmark = pytest.mark.tools

PARTS = {  # seconds, calls, flops, bytes
    "products": (0.030, 100, 3 * 10**9, 10**7),
    "elementwise": (0.006, 50, 0, 10**8),
    "optimizer": (0.001, 2, 0, 10**8),
    "data": (0.0, 1, 0, 4096),
    "framework": (0.003, 0, 0, 0),
}
RATES = {
    "matmul_flop_per_s": {"2": 1.5e11},
    "bandwidth_bytes_per_s": {"2": 2e10},
    "date": "2026-11-22",
}


def watched(parts=PARTS, scale=1.0, **others):
    given = {
        "step_s": [0.041 * scale, 0.042 * scale, 0.043 * scale],
        "parts": {
            name: {"seconds": [s * scale] * 3, "calls": calls, "flops": flops, "bytes": moved}
            for name, (s, calls, flops, moved) in parts.items()
        },
        "how": "a clock",
        "unseen": "nothing",
        "tolerance": 0.05,
        "dispatch_s": 4e-6,
        **others,
    }
    return msgspec.convert(given, WatchedSteps)


def save(root, engine="torch", shape="Framework", seen=None, ran=None):
    ran = ran or worker(settled(), [[0.040, 0.041, 0.039]])
    record = PartsRecord(shape=shape, engine=engine, worker=ran, watched=seen)
    path = root / "output" / "here" / "parts" / f"{shape}-{engine}" / "parts.json"
    path.parent.mkdir(parents=True)
    files.write(path, record)
    return path


def rows_of(root):
    rows, problems = report.read(root, "here")
    assert problems == []
    return {row["part"]: row for row in rows}


@pytest.fixture
def rates(tmp_path):
    from cputrain.machine.measurements import FIELDS

    content = {"date": RATES["date"]}
    content[FIELDS["fp32"]] = RATES["matmul_flop_per_s"]
    content[FIELDS["bandwidth"]] = RATES["bandwidth_bytes_per_s"]
    folder = tmp_path / "result" / "here"
    folder.mkdir(parents=True)
    write_json(folder / "machine.json", content)
    return tmp_path


def test_each_part_has_its_limit(rates):
    save(rates, seen=watched())
    rows = rows_of(rates)
    products, optimizer = rows["products"], rows["optimizer"]
    assert products["at_peak_s"] == pytest.approx(0.02)
    assert products["at_dispatch_s"] == pytest.approx(4e-4)
    assert (products["limit"], products["limit_share"]) == ("products", pytest.approx(2 / 3))
    assert rows["elementwise"]["at_bandwidth_s"] == pytest.approx(0.005)
    assert rows["elementwise"]["limit"] == "memory"
    assert optimizer["limit"] == "cache"  # five times as fast as memory
    assert rows["framework"]["limit"] == "dispatch"
    assert "data" not in rows  # took no time
    assert products["share"] == pytest.approx(0.75)


def test_without_rates_no_limit_is_made_up(tmp_path):
    save(tmp_path, seen=watched(dispatch_s=None, no_dispatch="it does not tell"))
    rows = rows_of(tmp_path)
    assert rows["products"]["at_peak_s"] is rows["products"]["at_dispatch_s"] is None
    assert rows["products"]["limit"] == "none"


@pytest.mark.parametrize("scale, sums_up", [(1.0, True), (1.04, True), (1.06, False), (0.9, False)])
def test_a_sum_that_is_not_the_step_is_said_so(rates, scale, sums_up):
    save(rates, seen=watched(scale=scale))
    row = rows_of(rates)["products"]
    assert row["sum_over_step"] == pytest.approx(scale)
    assert row["watching"] == pytest.approx(1.042 * scale / 0.99, rel=0.05)
    assert row["sums_up"] is sums_up
    rows, _ = report.read(rates, "here")
    report.write(rates / "result", "here", rows)
    page = (rates / "result/here/parts.md").read_text()
    assert ("do not rely on them" in page) is not sums_up


def test_a_tolerance_is_the_engines_own(rates):
    save(rates, seen=watched(scale=1.1, tolerance=0.15))
    assert rows_of(rates)["products"]["sums_up"]


def test_page_and_table_are_made_again_by_an_export(rates):
    save(rates, seen=watched())
    save(rates, engine="jax", seen=watched(tolerance=0.15))
    broken = failure(settled(), "failed", "ImportError: no C compiler")
    save(rates, engine="native", ran=broken)
    summary = export(rates)
    page, table = rates / "result/here/parts.md", rates / "result/here/parts.csv"
    assert {page, table} <= {*summary.files} and summary.problems == []
    text = page.read_text()
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## Framework, torch", "## Framework, jax", "## Framework, native"]
    assert "failed: ImportError: no C compiler" in text
    assert "| the blocks' products | 30.0 ms | 75 % | 100 | 3.00 | 10.0 | 20.0 ms |" in text
    assert "its parts add up to 100 % of it" in text
    rows = pl.read_csv(table)
    assert rows.height == 2 * 4 + 1
    whole = (rates / "result/here/report.html").read_text()
    assert "Where the time of a step goes" in whole and "its parts add up to 100 % of it" in whole
    assert "(here/parts.md)" in (rates / "result/README.md").read_text()
    assert machines(rates) == ["here"]
    page.unlink()
    export(rates)
    assert page.read_text() == text


@pytest.mark.parametrize(
    "change, reason",
    [
        (lambda text: text[:-40], "not JSON, perhaps cut off"),
        (lambda text: text.replace('"how"', '"hows"'), "hows"),
        (lambda text: text.replace('"schema": 1', '"schema": 9', 1), "schema 9"),
        (lambda text: text.replace('"engine": "torch"', '"engine": "jax"', 1), "lies under"),
        (lambda text: text.replace('"machine": "here"', '"machine": "x"'), "lies under"),
        (lambda text: text.replace('"tolerance": 0.05', '"tolerance": 1e999'), "tolerance"),
    ],
)
def test_a_broken_record_is_one_line_and_the_others_are_shown(rates, change, reason):
    path = save(rates, seen=watched())
    save(rates, engine="native", seen=watched())
    path.write_text(change(path.read_text()))
    rows, problems = report.read(rates, "here")
    assert {row["engine"] for row in rows} == {"native"}
    assert len(problems) == 1 and problems[0].path == path
    assert reason in problems[0].reason and "\n" not in str(problems[0])
    assert [str(p.path) for p in export(rates).problems] == [str(path.relative_to(rates))]


def test_fewer_steps_of_a_part_than_were_watched_are_refused():
    whole = json.loads(files.encode(watched()))
    whole["parts"]["products"]["seconds"].pop()
    with pytest.raises(msgspec.ValidationError, match="2 steps, not 3"):
        msgspec.convert(whole, WatchedSteps)


def test_other_than_as_many_plain_steps_as_watched_ones_is_one_line(rates):
    path = save(rates, seen=watched())
    save(rates, engine="native", seen=watched())
    content = json.loads(path.read_text())
    content["worker"]["samples"][0]["step_s"].pop()
    path.write_text(json.dumps(content))
    rows, (problem,) = report.read(rates, "here")
    assert {row["engine"] for row in rows} == {"native"}
    assert "watched.step_s: 3 steps beside 2 of worker.samples" in problem.reason
    assert [str(p.path) for p in export(rates).problems] == [str(path.relative_to(rates))]


def test_a_number_without_what_was_seen_is_refused():
    with pytest.raises(ValueError, match="watched is missing"):
        PartsRecord(shape="Framework", engine="torch", worker=worker(settled(), [[0.04]]))
