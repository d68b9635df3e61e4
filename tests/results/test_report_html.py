"""The report: one file without a network, safe, and each number leads to its raw steps."""

import re
from html.parser import HTMLParser

import pytest

from cputrain.report import charts
from cputrain.report.export import export

pytestmark = pytest.mark.tools


class Page(HTMLParser):
    """What a page consists of: its elements, and the text of its table of cells."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def attributes(self, name):
        return [attrs[name] for _, attrs in self.elements if name in attrs]


def report(project, machine="here"):
    export(project.root)
    return (project.root / "result" / machine / "report.html").read_text()


def test_it_needs_nothing_from_elsewhere_and_is_small(sweep):
    text = report(sweep)
    page = Page(text)
    assert len(text.encode()) < 1_000_000
    assert page.attributes("src") == []
    assert all(not re.match(r"\w+:|//", link) for link in page.attributes("href"))
    assert "@import" not in text and "url(" not in text
    assert not any(tag in ("link", "img", "iframe") for tag, _ in page.elements)


def test_each_number_leads_to_its_raw_steps_and_to_what_repeats_it(sweep):
    text = report(sweep)
    folder = sweep.root / "result" / "here"
    records = [link for link in Page(text).attributes("href") if link.endswith("run.json")]
    assert len(records) == 16  # all cells but the two that are skipped
    assert all((folder / link).resolve().is_file() for link in records)
    (pattern,) = re.findall(r"--bench &#39;(SeqLen\S*512\S*?)&#39;", text)
    assert re.search(pattern, "training.SeqLen.time_train_steps(512)")
    assert not re.search(pattern, "training.SeqLen.time_train_steps(1512)")


def test_it_says_what_was_verified(sweep):
    text = report(sweep)
    workers = re.search(r"(\d+) workers gave a number, from (\d+) timed steps", text)
    assert workers and int(workers[1]) * 30 == int(workers[2])


def test_text_of_others_is_shown_and_not_obeyed(sweep):
    sweep.suite("Bad", "x", ("<script>alert(1)</script>",))
    sweep.cell("Bad", "<script>alert(1)</script>", 0.04)
    sweep.save(machine={"cpu": '"><img src=x onerror=alert(1)>'}, commit="d" * 40, date=2)
    text = report(sweep)
    page = Page(text)
    assert [tag for tag, _ in page.elements].count("script") == 1  # its own
    assert not any(tag == "img" for tag, _ in page.elements)
    assert "&lt;script&gt;alert" in text and "onerror" in text


def test_without_a_number_it_says_so(project):
    project.suite("SeqLen", "seq_len", (128,))
    project.save()
    export(project.root)  # no machine has records: no report, and nothing breaks
    assert not list(project.root.glob("result/*/report.html"))


@pytest.mark.parametrize(
    ("low", "high", "is_log"),
    [
        (0.3, 3.0, True),
        (0.97, 1.03, True),
        (128, 50_000, True),
        (0.0, 19.0, False),
        (41, 42, False),
    ],
)
def test_an_axis_has_round_ticks_within_its_ends(low, high, is_log):
    scale = charts.around([low, high], 0.0, 100.0, is_log)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= charts.MOST_TICKS
    assert all(scale.low <= tick <= scale.high for tick in ticks)
    assert sorted(map(scale.place, ticks)) == list(map(scale.place, ticks))
    assert 0.0 <= scale.place(low) < scale.place(high) <= 100.0
    assert not (is_log and low <= 1 <= high) or 1.0 in ticks
