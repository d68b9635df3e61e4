"""One training over several nodes: what runs on each of them, by torchrun. submitit pickles it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from pathlib import Path

import psutil
import submitit

from cputrain.errors import RunError
from cputrain.machine.parent import dies_with_parent
from cputrain.record.fleet import NodeEnded
from cputrain.sweep.fleet.node import last_line

PORTS = range(20_000, 30_000)
"""Of rank 0's store: each job has another one, by its number."""


class Rank:
    """A node's part.

    Args:
        python: of the measured stack, at the same place on all nodes.
        project: the clone whose code runs.
        experiment: a file with its parts.
        out: the report, which rank 0 writes.
        each: processes on a node.
        offline: nothing is downloaded.
    """

    def __init__(
        self, python: Path, project: Path, experiment: Path, out: Path, each: int, offline: bool
    ) -> None:
        self.python, self.project, self.out = python, project, out
        self.experiment, self.each, self.offline = experiment, each, offline

    def __call__(self) -> NodeEnded:
        """Take part, to the end.

        Raises:
            RunError: a node's address is not to be had.
        """
        job = submitit.JobEnvironment()
        names, rank = list(job.hostnames), job.global_rank
        here = address(names[rank])
        log = self.out.with_name(f"{self.out.name}.{rank}.log")
        command = [str(self.python), "-m", "torch.distributed.run", "--log-dir=/dev/null"]
        command += [f"--nnodes={len(names)}", f"--node-rank={rank}"]
        command += [f"--nproc-per-node={self.each}", f"--master-addr={address(names[0])}"]
        command += [f"--master-port={PORTS[int(job.raw_job_id) % len(PORTS)]}"]
        command += [f"--local-addr={here}", "-m", "cputrain.worker.ranks.hosts"]
        command += ["--experiment", str(self.experiment), "--out", str(self.out)]
        with log.open("wb") as file:
            status = subprocess.run(
                [*command, *(["--offline"] if self.offline else [])],
                cwd=self.project,
                env={**os.environ, "GLOO_SOCKET_IFNAME": interface(here)},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                preexec_fn=dies_with_parent(),
            ).returncode
        return NodeEnded(names[rank], str(self.project), status, last_line(log))


def address(node: str) -> str:
    """The IPv4 address by which Slurm reaches a node.

    Raises:
        RunError: Slurm does not tell, or its name is not known here.
    """
    done = subprocess.run(
        ["scontrol", "show", "node", node, "--oneliner"], capture_output=True, text=True
    )
    match = re.search(r"\bNodeAddr=(\S+)", done.stdout)
    if match is None:
        raise RunError(f"scontrol show node {node} names no address: {done.stderr.strip()}")
    try:
        return socket.gethostbyname(match[1])
    except OSError as error:
        raise RunError(f"node {node}: the address of {match[1]} is not known: {error}") from error


def interface(here: str) -> str:
    """The network interface that has an address, which gloo has to be told.

    Raises:
        RunError: none has it.
    """
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.address == here for each in addresses):
            return str(name)
    raise RunError(f"no network interface of this node has {here}, by which Slurm reaches it")
