"""The `run` verb: measure every suite, then write the tables."""

from __future__ import annotations

import argparse
from dataclasses import replace

from cputrain.machine import libraries
from cputrain.run.session import Session
from cputrain.sweep import driver
from cputrain.sweep.suites import Choice, Sweep


def main(args: argparse.Namespace) -> int:
    """Measure; 1 where some cell failed."""
    session = replace(
        Session.from_env(),
        mode="quick" if args.quick else "full",
        offline=args.offline,
        model_cap_bytes=int(args.model_cap * 1e6),
        allow_machine_changes=args.allow_machine_changes,
        libraries=libraries.given(args.library),
    )
    choice = Choice(
        regexes=args.bench,
        rounds=args.rounds or (1 if args.quick else None),
        budget_s=60 * args.budget if args.budget else None,
        quick=args.quick,
        ipex=args.ipex,
        fresh=args.fresh,
    )
    return driver.drive(Sweep(choice), session)
