"""One experiment trained by processes on several hosts, each started by that host's torchrun:

    torchrun --nnodes=2 --node-rank=0 --nproc-per-node=1 --master-addr=A --master-port=29500
        --local-addr=A --log-dir=/dev/null
        -m cputrain.worker.ranks.hosts --experiment FILE.json --out OUT.json

and the same on the other host with --node-rank=1 and its own --local-addr. The file holds an
experiment's parts as `Experiment.to_json` writes them (what is left out has its default), with
system.processes as many as all hosts start. Rank 0 writes the report. Each process takes its
share of the CPUs that its host allows it; gloo uses the interface that GLOO_SOCKET_IFNAME names.

No framework is imported until CPUs and threads are settled.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from cputrain.engines import settings, specs
from cputrain.experiment import Experiment, ExperimentError
from cputrain.machine import mask, parent
from cputrain.machine.topology import TopologyError, read_topology
from cputrain.record import files
from cputrain.record.answers import Finished, Phase, Ready, Report, Sampled
from cputrain.record.part import Part
from cputrain.record.process import Place, Placement
from cputrain.record.requests import JobRequest, SampleCommand
from cputrain.worker.ranks.places import label, where

if TYPE_CHECKING:
    from cputrain.worker.ranks.group import Group


LAST_S = 1.0
"""How long rank 0 stays: its torchrun has the store at which the others' torchruns report off."""


class HostsError(Exception):
    """Why this process cannot take part: one line."""


def read(path: Path) -> Experiment:
    """The experiment of a file.

    Raises:
        HostsError: it cannot be read, is no experiment, or asks for what has to be set before
            the interpreter starts.
    """
    try:
        experiment = specs.settle(Experiment.from_json(json.loads(path.read_text())))
    except (OSError, ValueError, ExperimentError) as error:
        raise HostsError(f"{path}: {error}") from error
    if experiment.system.processes is None:
        raise HostsError(f"{path}: system.processes is needed, as many as all hosts start")
    return experiment


def settle(experiment: Experiment) -> Placement:
    """Take this process's share of its host's CPUs and threads; what all on this host share out.

    Raises:
        HostsError: there are too few cores, or a setting needs a launcher.
    """
    rank, size = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    try:
        cpus = mask.choose(read_topology(), experiment.system)
        placement = mask.shared_out(read_topology(allowed=cpus), size)
    except TopologyError as error:
        raise HostsError(str(error)) from error
    before_start = (
        settings.environment(experiment, placement)
        or settings.preload(experiment)
        or settings.command(experiment, placement)
        or settings.before_exec(experiment)
    )
    if before_start:
        rule = "the experiment has a setting that is made before the interpreter starts"
        raise HostsError(f"{rule}: {before_start}; it is not possible here")
    os.sched_setaffinity(0, placement.ranks[rank])
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(placement.omp_threads)
    return placement


def lead(request: JobRequest, out: Path) -> None:
    """Rank 0: train, say on standard error what goes on, write the report."""
    from cputrain.worker.ranks.leader import Leader

    answers: list[Part] = []

    class Reporter(Leader):
        places: list[Place]

        def say(self, message: Part) -> None:
            if isinstance(message, Phase):
                print(message.what, file=sys.stderr, flush=True)
            else:
                answers.append(message)

        def join(self) -> None:
            super().join()
            self.places = self.group.gather(where(self.placement))
            print(label(self.places), file=sys.stderr, flush=True)

    leader = Reporter(request, descriptor=-1)
    leader.prepare()
    for _ in range(leader.experiment.budget.samples):
        leader.sample(SampleCommand())
    leader.finish()
    (ready,) = (message for message in answers if isinstance(message, Ready))
    sampled = [message for message in answers if isinstance(message, Sampled)]
    (finished,) = (message for message in answers if isinstance(message, Finished))
    report = Report(
        label=label(leader.places),
        places=leader.places,
        experiment=request.experiment,
        ready=ready,
        samples=[message.sample for message in sampled],
        peak=sampled[-1].peak,
        finished=finished,
    )
    files.write(out, report)
    time.sleep(LAST_S)


def follow(placement: Placement) -> None:
    """Every other rank."""
    from cputrain.worker.ranks.group import Group
    from cputrain.worker.ranks.member import Follower

    group: Group = Group()
    request = structs.replace(group.hear_request(), placement=placement)
    group.gather(where(placement.of_rank(group.local_rank)))
    Follower(request, group).serve()


def run(arguments: argparse.Namespace) -> None:
    """Take part in the experiment, as torchrun's variables say.

    Raises:
        HostsError: it cannot.
    """
    if "LOCAL_WORLD_SIZE" not in os.environ:
        raise HostsError("not started by torchrun: see docs/several-processes.md")
    experiment = read(arguments.experiment)
    placement = settle(experiment)
    signal.alarm(experiment.budget.deadline_s)
    if int(os.environ["RANK"]):
        follow(placement)
        return
    request = JobRequest(
        experiment=experiment.to_json(),
        placement=placement,
        launched=time.monotonic(),
        folder=str(arguments.out.parent),
        offline=arguments.offline,
        model_cap_bytes=0,
    )
    lead(request, arguments.out)


def main() -> int:
    """Run; one line and 1 where it failed."""
    parent.die_with_parent()
    parser = argparse.ArgumentParser(
        prog="python -m cputrain.worker.ranks.hosts", description=__doc__
    )
    parser.add_argument("--experiment", type=Path, required=True, help="JSON, on every host")
    parser.add_argument("--out", type=Path, required=True, help="the report, by rank 0")
    parser.add_argument("--offline", action="store_true", help="download nothing")
    try:
        run(parser.parse_args())
    except Exception as error:
        who = f"rank {os.environ.get('RANK', '-')} on {socket.gethostname()}"
        first = str(error).strip().split("\n")[0]
        kind = "" if isinstance(error, HostsError) else f"{type(error).__name__}: "
        print(f"{who}: {kind}{first}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    from cputrain.worker.ranks import (
        hosts,  # under its own name, so that its classes are those that others see
    )

    status = hosts.main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
