"""The `run` verb: measure every suite, then write the tables."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

from cputrain.machine import library_search
from cputrain.run.session import Session
from cputrain.sweep import driver
from cputrain.sweep.selection import FULL_S, QUICK_S, WHOLE_S, Choice
from cputrain.sweep.suites import Sweep


def main(args: argparse.Namespace) -> int:
    """Measure; 1 where some cell failed."""
    session = replace(
        Session.from_env(),
        mode="quick" if args.quick else "full",
        offline=args.offline,
        model_cap_bytes=int(args.model_cap * 1e6),
        allow_machine_changes=args.allow_machine_changes,
        libraries=library_search.from_arguments(args.library),
    )
    choice = Choice(
        regexes=args.bench,
        passes=args.passes,
        budget_s=60 * args.budget if args.budget else QUICK_S if args.quick else FULL_S,
        whole_s=math.inf if args.budget or args.quick or args.bench else WHOLE_S,
        leaves_out=args.budget is not None or not (args.bench or args.quick),
        quick=args.quick,
        ipex=args.ipex,
        fresh=args.fresh,
    )
    return driver.drive(Sweep(choice), session)
