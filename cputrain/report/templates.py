"""The templates of pages: Markdown, whose texts are escaped by `md`, and HTML."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from cputrain import wording


def markdown(name: str, context: Mapping[str, Any]) -> str:
    """A page from report/<name>; of several empty lines one is left."""
    text = _environment(is_html=False).get_template(name).render(context)
    return re.sub(r"\n{3,}", "\n\n", text)


def html(name: str, context: Mapping[str, Any]) -> str:
    """A page from report/<name>; each text that is put in is escaped."""
    return _environment(is_html=True).get_template(name).render(context)


@functools.cache
def _environment(is_html: bool) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=is_html,
    )
    environment.globals |= {"md": wording.markdown, "counted": wording.counted}
    environment.filters["line"] = _line
    return environment


def _line(text: object) -> str:
    """One line of text for HTML; thousands stay together."""
    plain = wording.one_line(text)
    if " " not in plain:
        return plain
    return re.sub(r"(?<=\d) (?=\d{3}\b)", "\N{NO-BREAK SPACE}", plain)
