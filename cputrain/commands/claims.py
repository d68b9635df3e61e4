"""The `claims` verb: what others claimed, put to the test in pairs side by side."""

from __future__ import annotations

import argparse
from dataclasses import replace

from cputrain.run.session import Session
from cputrain.sweep import driver
from cputrain.sweep.claims.verb import Claims

BUDGET_S = 20 * 60.0


def main(args: argparse.Namespace) -> int:
    """Measure, write and print the verdicts; 1 where some pair failed."""
    session = replace(
        Session.from_env(),
        mode="full",
        offline=args.offline,
        model_cap_bytes=0,
        allow_machine_changes=False,
    )
    budget_s = 60 * args.budget if args.budget else BUDGET_S
    return driver.drive(Claims(args.ids, budget_s, args.fresh), session)
