"""The report: one file without a network, safe, and each number leads to its raw steps."""

import re
from html.parser import HTMLParser

import browser
import pytest
from settled import settled

from cputrain.report import lettering
from cputrain.report.drawn import FONT, WIDE
from cputrain.report.export import export

pytestmark = pytest.mark.tools


class Page(HTMLParser):
    """What a page consists of: its elements, and its texts with the tags before them."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.elements and data.strip():
            self.texts.append((*self.elements[-1], data))

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


def test_no_label_of_an_axis_reaches_beyond_its_picture(sweep):
    labels = [
        (float(attrs["x"]), attrs["text-anchor"], text)
        for tag, attrs, text in Page(report(sweep)).texts
        if tag == "text"
    ]
    assert {anchor for _, anchor, _ in labels} == {"middle", "end"}
    for x, anchor, text in labels:
        wide = lettering.width(text, FONT)
        left = x - (wide / 2 if anchor == "middle" else wide)
        assert left >= 0 and left + wide <= WIDE, (x, text)


def test_the_ticks_of_a_size_are_the_measured_ones(sweep):
    figure = re.search(r"<h3>SeqLen</h3>.*?</figure>", report(sweep), re.DOTALL)[0]
    below = [text for _, attrs, text in Page(figure).texts if attrs.get("text-anchor") == "middle"]
    assert below == ["128", "256", "512", "1024"]


@pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())
def test_the_notes_are_shown_whole_or_scroll_within_the_window(sweep, tmp_path):
    name = "gcc_Ofast_native_libiomp5_lto"
    sweep.suite("ActivationCheckpointing", "x", (name, "b"))
    for value in (name, "b"):
        sweep.cell("ActivationCheckpointing", value, 0.04, settled(), first_s=0.09)
    report(sweep)
    box = "document.querySelector('#cells').parentElement"
    page = browser.Browser(tmp_path / "profile")
    try:
        page.open(f"file://{sweep.root}/result/here/report.html", box)
        for width, is_whole in ((1280, True), (1920, True), (480, False)):
            size = {"width": width, "height": 600, "deviceScaleFactor": 1, "mobile": False}
            page.call("Emulation.setDeviceMetricsOverride", **size)
            assert page.ask(f"{box}.scrollWidth <= {box}.clientWidth") == is_whole
            assert page.ask(f"getComputedStyle({box}).overflowX") == "auto"
            assert page.ask(f"{box}.offsetHeight < innerHeight")
            assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    finally:
        page.close()
