"""The `compare` verb: releases or commits side by side."""

from __future__ import annotations

import argparse

from cputrain.commands import compare_releases
from cputrain.errors import UsageError


def main(args: argparse.Namespace) -> int:
    """Compare. Raises UsageError where it is not said what."""
    if compare_releases.is_asked(args):
        return compare_releases.main(args)
    raise UsageError("compare what? Give --stack twice, or --git A B")
