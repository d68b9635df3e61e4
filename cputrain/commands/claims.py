"""The `claims` verb: what others claimed, put to the test in pairs side by side."""

from __future__ import annotations

import argparse

from cputrain.commands.sessions import without_models
from cputrain.sweep import driver
from cputrain.sweep.claims.verb import Claims

BUDGET_S = 20 * 60.0


def main(args: argparse.Namespace) -> int:
    """Measure, write and print the verdicts; 1 where some pair failed."""
    session = without_models(args.offline)
    budget_s = 60 * args.budget if args.budget else BUDGET_S
    return driver.drive(Claims(args.ids, budget_s, args.fresh), session)
