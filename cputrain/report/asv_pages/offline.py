"""asv's published pages made to load nothing from anywhere else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from cputrain.atomic import write_made
from cputrain.errors import RunError
from cputrain.report.asv_pages.assets import ASSETS

VENDOR = "vendor"
"""Folder of the assets, in the pages' own."""
SCRIPT = re.compile(r'<script src="(https?://[^"]+)"[^>]*>')
STYLE = re.compile(r'<link rel="stylesheet" href="(https?://[^"]+)"[^>]*>')


def make(pages: Path, files: Mapping[str, bytes]) -> None:
    """Put the assets into the pages' folder, and have its index load those.

    Args:
        pages: what `asv publish` has written.
        files: every asset by its file name.

    Raises:
        RunError: the pages ask for something that is none of them.
    """
    names = {asset.url: asset.name for asset in ASSETS}
    page = pages / "index.html"
    text = page.read_text()
    known = {url: _local(names[url], files) for url in urls(text) if url in names}
    if unknown := [url for url in urls(text) if url not in names]:
        raise RunError(f"{page} loads {unknown[0]}, which asv 0.6.6 does not: install it again")
    text = SCRIPT.sub(
        lambda match: f'<script {known[match[1]].format("src")} onerror="js_load_failure()">', text
    )
    text = STYLE.sub(
        lambda match: f'<link rel="stylesheet" {known[match[1]].format("href")}>', text
    )
    for name, data in files.items():
        write_made(pages / VENDOR / name, data)
    write_made(page, text)


def urls(text: str) -> list[str]:
    """What a page loads from elsewhere."""
    return [match[1] for pattern in (SCRIPT, STYLE) for match in pattern.finditer(text)]


def _local(name: str, files: Mapping[str, bytes]) -> str:
    """Attributes of a tag that loads an asset, and only as it was pinned; {} is src or href."""
    digest = base64.b64encode(hashlib.sha256(files[name]).digest()).decode()
    return f'{{}}="{VENDOR}/{name}" integrity="sha256-{digest}"'
