"""Flags of the verb `fleet`. Standard library only."""

from __future__ import annotations

from pathlib import Path

from cputrain.commands import arguments, flags

DESCRIPTION = """\
One sweep on each of several nodes of a Slurm cluster, and all results here at the end. Each node
works in a clone of its own below .asv/fleet/, which all nodes have to see. A task that is put back
into the queue goes on where it stopped. Without Slurm: one sweep, on this machine. With --train one
experiment is trained by processes on all the nodes together instead.
"""


def add(verbs: flags.Verbs) -> None:
    """Let a parser take the verb."""
    fleet = flags.verb(
        verbs, "fleet", "one sweep on each node of a Slurm cluster, all results here", DESCRIPTION
    )
    fleet.add_argument("--nodes", type=arguments.count, metavar="N", required=True, help="how many")
    fleet.add_argument("--partition", metavar="P", help="of Slurm (default: its own)")
    flags.minutes(fleet, "--time", 60.0, "for set-up and sweep of a node")
    flags.bench(fleet, "as run's")
    fleet.add_argument("--quick", action="store_true", help="as run's")
    fleet.add_argument(
        "--train",
        type=Path,
        metavar="FILE",
        help="instead: an experiment's parts as JSON, with system.processes for all nodes",
    )
    fleet.add_argument("--out", type=Path, metavar="FILE", help="the report of --train")
    flags.budget(fleet, "as run's")
    flags.offline(fleet)
