"""Figures as SVG: small, and their words are text."""

import re
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cputrain.report import as_svg

pytestmark = pytest.mark.tools

TEXT = "{http://www.w3.org/2000/svg}text"
PATH = "{http://www.w3.org/2000/svg}path"


def made(title):
    with mpl.rc_context(as_svg.STYLE):
        figure = Figure(figsize=(3, 2))
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.plot([1, 2, 3], [0.123456, 7.654321, 2.2])
        axes.set_title(title)
        return as_svg.written(figure)


@pytest.mark.parametrize("title", ["0.123456x [1.98765, 2.0]", 'a <b> & "c" d="1.23456"'])
def test_words_are_text_and_stay_as_they_are(title):
    words = [text.text for text in ElementTree.fromstring(made(title)).iter(TEXT)]
    assert title in words


def test_places_have_two_digits_and_only_as_many_as_they_need():
    root = ElementTree.fromstring(made("title"))
    places = [number for path in root.iter(PATH) for number in path.get("d").split()]
    numbers = [float(n) for n in places if re.fullmatch(r"-?[\d.]+", n)]
    assert len(numbers) > 20 and all(round(n, 2) == n for n in numbers)
    assert max(numbers) <= 3 * 72


def test_equal_figures_are_equal_bytes_without_a_date():
    assert made("title") == made("title")
    assert b"date" not in made("title").lower()
