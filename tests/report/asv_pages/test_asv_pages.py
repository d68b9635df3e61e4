"""asv's pages without a network, in a browser: grid, graph of two machines, regressions."""

import os
import re
import shutil
from pathlib import Path

import browser
import made_site
import pytest

from cputrain.report.asv_pages import cached
from cputrain.sweep import publishing

pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif(bool(browser.missing()), reason=browser.missing()),
    pytest.mark.skipif(
        shutil.which("npm") is None and not cached.folder().exists(),
        reason="npm is not installed (Debian: apt install npm)",
    ),
]
GRAPH = "training.SeqLen.time_train_steps"
X_AXIS = "document.querySelector('#main-graph .axisLabels').textContent"
LEGEND = "Array.from(document.querySelectorAll('#main-graph .legendLabel')).map(l => l.innerText)"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    config = made_site.configuration(tmp_path_factory.mktemp("site"))
    with made_site.served(publishing.publish(config, is_offline=True).pages) as address:
        yield address


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    opened = browser.Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def page(site, chromium, request):
    """Opens a page of the site; at the end nothing was asked of others, and nothing failed."""
    chromium.requests.clear()
    chromium.errors.clear()

    def show(address, until):
        chromium.open(f"{site}/#{address}", until)
        return chromium

    yield show
    if folder := os.environ.get("SCREENS"):
        chromium.screenshot(Path(folder) / f"{request.node.name}.png")
    elsewhere = [url for url in chromium.requests if not url.startswith((site, "about:", "data:"))]
    assert chromium.requests and not elsewhere and not chromium.errors


def test_the_grid_has_every_suite_by_its_name(page):
    shown = page("/", "document.querySelectorAll('.benchmark-text').length")
    names = shown.ask(
        "Array.from(document.querySelectorAll('.benchmark-text')).map(e => e.textContent)"
    )
    assert sorted(names) == sorted(name.split(".")[1] for name in made_site.discovered())
    shown.wait("document.querySelectorAll('.benchmark-plot canvas').length")


def test_a_suite_opens_with_its_variable_and_a_line_for_each_engine_and_machine(page):
    shown = page(GRAPH, f"{LEGEND}.length")
    shown.wait(f"{LEGEND}.length == 6")
    engines, machines = ("torch", "jax", "native"), made_site.MACHINES
    wanted = {f"{engine}; {machine}" for engine in engines for machine in machines}
    assert set(shown.ask(LEGEND)) == wanted
    assert shown.ask("document.querySelector('#title').textContent") == "SeqLen"
    assert shown.ask(X_AXIS) == "seq_len" and "milliseconds per step" in shown.ask("window.drawn")
    panels = shown.ask(
        "Array.from(document.querySelectorAll('#graph-display .panel-heading'))"
        ".map(e => e.textContent.trim())"
    )
    assert {"machine", "x-axis", "engine"} <= set(panels)
    assert not set(panels) & {"cpu", "l2", "num_cpu", "os"}  # the machine's name tells them


def test_values_that_are_names_are_bars_side_by_side(page):
    """asv's page alone draws none of them where there are several lines."""
    shown = page("training.Precision.time_train_steps", f"{LEGEND}.length == 4")
    names = "Array.from(document.querySelectorAll('#main-graph .xAxis .tickLabel'))"
    values = made_site.discovered()["training.Precision.time_train_steps"]["params"][0]
    assert shown.ask(f"{names}.map(e => e.textContent)") == [value.strip("'") for value in values]
    coloured = (
        "(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter("
        "(red, i, all) => i % 4 == 0 && Math.abs(red - all[i + 2]) > 20).length)"
        "(document.querySelector('#main-graph canvas'))"
    )
    assert shown.ask(coloured) > 10_000  # pixels of bars


def test_a_choice_of_the_reader_stays(page):
    address = f"{GRAPH}?x-axis=commit&p-engine='torch'&p-seq_len=512&machine=there"
    shown = page(address, "document.querySelector('#range').value")
    assert shown.ask("location.hash").endswith("machine=there")
    assert re.fullmatch(r"\w{8}\.\.\w{8}", shown.ask("document.querySelector('#range').value"))
    assert shown.ask(X_AXIS) == "commits" and "milliseconds per step" in shown.ask("window.drawn")


def test_facts_of_strange_machines_are_text(page):
    shown = page(GRAPH, f"{LEGEND}.length")
    shown.ask("$('#graphdisplay-state-params a:contains(there)').trigger('mouseenter').length")
    shown.wait("document.querySelector('.tooltip-inner')")
    said = shown.ask("document.querySelector('.tooltip-inner').textContent")
    assert f"cpu: there {made_site.HOSTILE}" in said
    assert shown.ask("window.pwned") is None


def test_regressions_are_listed_and_lead_to_their_commit(page):
    rows = "document.querySelectorAll('#regressions-body tbody tr')"
    shown = page("/regressions", f"{rows}.length")
    said = shown.ask(f"Array.from({rows}).map(row => row.innerText)")
    assert all("1.50x" in row for row in said)
    assert {"SeqLen (512, 'torch') on here", "SeqLen (512, 'torch') on there"} <= {
        row.split("\t")[0] for row in said
    }
    shown.wait("location.hash.includes('sort=')")  # asv's own change of the address comes late
    shown.ask(f"{rows}[0].querySelector('a').click()")
    shown.wait("location.hash.includes('commits=')")
    shown.wait("document.querySelector('#range').value")


def test_the_list_has_each_cell_with_its_unit(page):
    cells = "document.querySelectorAll('#summarylist-body td.value span')"
    shown = page("/summarylist", f"{cells}.length")
    assert all(
        re.fullmatch(r"[\d.]+m?s", value)
        for value in shown.ask(f"Array.from({cells}).map(e => e.textContent)")
    )
