"""What torchrun is told, what each rank does first, and who died first by torchrun's account.

Standard library only.
"""

from __future__ import annotations

import os
import re
import sys

from cputrain import environ
from cputrain.record.process import Placement

LOOPBACK = "127.0.0.1"
INTERFACE = "lo"


def words(processes: int, program: tuple[str, ...]) -> tuple[str, ...]:
    """The command that runs `program` as so many ranks on this host, none of them ever again.

    They meet at a free port of the loopback address: no name is looked up. torchrun keeps no
    logs (it would leave a folder behind), so the ranks write where it writes.
    """
    return (
        *(sys.executable, "-P", "-m", "torch.distributed.run"),
        *("--nnodes=1", f"--nproc-per-node={processes}", "--max-restarts=0"),
        *("--rdzv-backend=c10d", f"--rdzv-endpoint={LOOPBACK}:0", "--rdzv-id=cputrain"),
        *(f"--local-addr={LOOPBACK}", "--log-dir=/dev/null", "--no-python"),
        *program,
    )


def environment(placement: Placement) -> dict[str, str]:
    """Variables that the ranks of one host need beside the worker's."""
    masks = ";".join(",".join(map(str, cpus)) for cpus in placement.ranks)
    return {environ.RANK_CPUS: masks, "GLOO_SOCKET_IFNAME": INTERFACE}


def take_place() -> None:
    """Give this process its rank's mask, before anything that may start or bind threads.

    torchrun starts every rank with its own mask, that of all.
    """
    if masks := environ.value(environ.RANK_CPUS):
        cpus = masks.split(";")[int(os.environ["LOCAL_RANK"])]
        os.sched_setaffinity(0, map(int, cpus.split(",")))


def first_death(output: str) -> tuple[int, int] | None:
    """Rank and exit status (minus the signal) of who ended torchrun's run; None if it is silent.

    Args:
        output: the end of torchrun's standard error.
    """
    match = re.search(
        r"Root Cause \(first observed failure\):"
        r".*?rank\s*:\s*(\d+) \(local_rank.*?exitcode\s*:\s*(-?\d+) \(pid",
        output,
        re.DOTALL,
    )
    return None if match is None else (int(match[1]), int(match[2]))


def without_its_words(output: str) -> str:
    """What the ranks said: without torchrun's account of their end."""
    return re.split(r"^[IWE]\d{4} .*torch/distributed/elastic/", output, maxsplit=1, flags=re.M)[0]
