"""The `restore` verb: put the machine back after a run that was killed with its watchdog."""

from __future__ import annotations

import argparse

from cputrain.machine.controls import journal, leftover


def main(args: argparse.Namespace) -> int:
    """Say each file and value that was put back, or that there is nothing to restore."""
    for line in leftover.put_back(journal.path()) or ["nothing to restore"]:
        print(line)
    return 0
