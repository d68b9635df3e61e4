"""example/ as it is committed: what README.md says of it, its size, and what it must not tell."""

import gzip
import re

import polars as pl
import pytest

from cputrain.engines import specs
from cputrain.paths import PROJECT
from cputrain.report import drawn, example, readme
from cputrain.report.example_files import LARGEST
from cputrain.results import anonymous, packed, rows

pytestmark = pytest.mark.tools

ROOT = PROJECT / "example"
README = (PROJECT / "README.md").read_text()
FILES = sorted(path for path in ROOT.rglob("*") if path.is_file())
AGAIN = "run: python3 bench.py example --from example"
HOMES = re.compile(r"/home/|/Users/|/root/|/tmp/|/work/|/mnt/|/srv/")


def text(path):
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


@pytest.fixture(scope="module")
def known():
    known_example, problems = example.read(PROJECT)
    assert problems == []
    return known_example


@pytest.fixture(scope="module")
def page(known):
    return readme.page_of(ROOT, known.machine)


def test_the_readme_says_what_its_records_say(page):
    assert readme.put(README, readme.part(page)) == README, AGAIN


def test_the_numbers_of_the_readme_are_those_of_its_table(page, known):
    table = pl.read_csv(ROOT / "result" / "results.csv").to_dicts()
    effects = {(row["suite"], row["value"]): row for row in table if row["status"] == "ok"}
    lines = readme.most_telling(page.measured)
    assert lines
    assert len({line.entry.cell.workers[-1].identity for line in lines}) == len(lines)
    for line in lines:
        row = effects[line.entry.cell.suite, line.entry.cell.value]
        assert row["effect"] == pytest.approx(line.entry.effect, rel=1e-5), AGAIN
        assert row["effect_low"] == pytest.approx(line.entry.low, rel=1e-5), AGAIN
        assert row["effect_high"] == pytest.approx(line.entry.high, rel=1e-5), AGAIN
        assert row["verdict"] in readme.TOLD and row["machine"] == known.machine
        assert f"| {line.effect} |" in README


def test_what_others_tables_say_of_it_is_what_its_records_say(page, known):
    assert known.baseline_s == pytest.approx(page.baseline_s), AGAIN
    assert (known.fastest_s, known.slowest_s) == pytest.approx(page.baseline_range_s), AGAIN


def test_all_of_its_records_are_read(known):
    pack = packed.read(ROOT / "output" / known.machine / packed.FILE)
    assert pack.problems == () and len(pack.records) > 300
    cells, problems = rows.read(ROOT, known.machine)
    assert problems == [] and len(cells) == pl.read_csv(ROOT / "result" / "results.csv").height


def test_it_is_small_and_has_no_model():
    assert sum(path.stat().st_size for path in FILES) <= LARGEST
    kinds = {path.suffix for path in FILES}
    assert kinds <= {".json", ".gz", ".md", ".csv", ".svg", ".html", ".parquet"}
    assert [path.name for path in FILES if path.suffix == ".gz"] == [packed.FILE]


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in FILES]
)
def test_no_file_of_it_tells_who_ran_it_or_where(path):
    if path.suffix == ".parquet":
        values = pl.read_parquet(path).select(pl.col(pl.String)).to_dict(as_series=False)
        content = "\n".join(v for column in values.values() for v in column if v is not None)
    else:
        content = text(path)
    assert anonymous.telling(content) == []
    paths = re.sub(r"/opt/rh/[\w.-]+/root/", "", content)  # where PyTorch's wheels were built
    assert not HOMES.search(paths), HOMES.search(paths)
    assert not re.search(r"[\w.]+@[\w-]+\.\w", content)


def test_asv_does_not_look_there():
    conf = (PROJECT / "asv.conf.json").read_text()
    assert '"results_dir": "result/asv"' in conf and "example" not in conf


def test_lines_of_the_size_charts_are_engines(page):
    names = {line.name for chart in drawn.sizes(page) for line in chart.lines}
    assert {"torch"} <= names <= set(specs.NAMES), names


def test_no_page_has_a_link_to_a_file_that_is_not_there():
    for page in ROOT.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page}: {link}"
