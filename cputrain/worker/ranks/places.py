"""Where processes run, and how many machines that is."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from cputrain.record.process import Place, Placement


def where(placement: Placement) -> Place:
    """Where this process runs, for `label`.

    boot: of the kernel: the same for everything on one machine, containers included.
    network_namespace: of the process, told apart within one boot.
    """
    return Place(
        host=socket.gethostname(),
        boot=Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        network_namespace=str(Path("/proc/self/ns/net").readlink()),
        interface=os.environ.get("GLOO_SOCKET_IFNAME"),
        cpus=list(placement.cpus),
        threads=placement.threads,
    )


def label(places: list[Place]) -> str:
    """How many processes on how many machines; namespaces of one machine are not machines."""
    machines = {place.boot: place.host for place in places}
    networks = {(place.boot, place.network_namespace) for place in places}
    names = ", ".join(sorted(machines.values()))
    text = f"{_count(len(places), 'process', 'processes')} on "
    text += f"{_count(len(machines), 'machine', 'machines')} ({names})"
    if len(networks) > len(machines):
        text += f" in {len(networks)} network namespaces"
    return text


def _count(n: int, singular: str, plural: str) -> str:
    return f"{n} {singular if n == 1 else plural}"
