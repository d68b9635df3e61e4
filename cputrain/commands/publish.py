"""The `publish` verb: asv's pages of what was measured here, also without a network."""

from __future__ import annotations

import argparse

from cputrain.sweep import asvenv, publishing
from cputrain.wording import one_line


def main(args: argparse.Namespace) -> int:
    """Publish, and say where the pages are and how to look at them."""
    config = asvenv.config("full")
    pages, problems = publishing.publish(config, args.offline)
    for problem in problems:
        print(f"problem: {one_line(problem)}")
    print(f"asv's pages: {pages}/index.html")
    if not args.offline:
        print("they load scripts from CDNs: publish --offline makes them need no network")
    shown = "" if config.name == "asv.conf.json" else f" --config {config}"
    print(f"look at them: venv/bin/asv{shown} preview")
    return 0
