"""The `fleet` verb: one sweep on each node, or one training over all of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine import registry
from cputrain.sweep import asvenv
from cputrain.sweep.fleet import together, verb
from cputrain.sweep.fleet.cluster import Cluster
from cputrain.sweep.fleet.rank import Rank


def main(args: argparse.Namespace) -> int:
    """Measure everywhere; 1 where a node did not."""
    if args.train is not None:
        return _train(args)
    if args.out is not None:
        raise UsageError("--out FILE is for the report of --train FILE; a sweep's results lie here")
    command = verb.sweep_command(list(_words(args)))
    return verb.run(verb.Fleet(args.nodes, args.partition, args.time, command))


def _words(args: argparse.Namespace) -> Iterator[str]:
    """What a node's bench.py is told."""
    if args.quick:
        yield "--quick"
    if args.offline:
        yield "--offline"
    for regex in args.bench or ():
        yield f"--bench={regex}"
    if args.budget:
        yield f"--budget={args.budget:g}"


def _train(args: argparse.Namespace) -> int:
    """Train over all nodes, by this clone's environment."""
    if args.quick or args.bench or args.budget:
        raise UsageError("--train FILE says what is trained: it goes with none of run's flags")
    experiment = args.train.resolve()
    each = together.processes(experiment, args.nodes)
    out = (args.out or experiment.with_name(f"{experiment.stem}-report.json")).resolve()
    python = asvenv.Asv("full", registry.name_here().name).python()
    if not python.exists():
        raise UsageError(f"{python} is not there: python3 bench.py run --quick makes it")
    rank = Rank(python, paths.PROJECT, experiment, out, each, args.offline)
    cluster = Cluster(together.folder(), args.partition, args.time)
    return together.train(rank, cluster, args.nodes, verb.say)
