"""Which NUMA nodes the pages are on.

numactl(8) sets the policy of its process and then becomes the interpreter, so it holds from the
interpreter's first page on and for every thread (numa(7), set_mempolicy(2)).
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import pages, reading
from cputrain.machine.mask import choose
from cputrain.machine.topology import memory_nodes, read_topology

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check

INSTALL = "numactl is not installed: apt install numactl (Fedora: dnf install numactl)"
SHARE = 0.5
"""Of an even share of the pages: what each node must have to count as interleaved with."""


def policy_words(policy: str, mask: tuple[int, ...], root: Path = reading.ROOT) -> tuple[str, ...]:
    """What numactl is told for a process on the CPUs of `mask`.

    Raises:
        reading.Unknown: the kernel does not say which nodes there are.
    """
    if policy == "local":
        return ("--localalloc",)
    option = "interleave" if policy == "interleave" else "membind"
    return (f"--{option}={','.join(map(str, target_nodes(policy, mask, root)))}",)


def target_nodes(policy: str, mask: tuple[int, ...], root: Path = reading.ROOT) -> tuple[int, ...]:
    """The nodes that the pages are to be on; for local none is said. Raises reading.Unknown."""
    if policy == "interleave":
        return memory_nodes(root)
    if policy == "one_node":
        nodes = read_topology(root, mask).nodes[:1]
        if not nodes:
            raise reading.Unknown("the kernel does not say which NUMA node any CPU belongs to")
        return nodes
    return ()


def reason(policy: str, mask: tuple[int, ...], root: Path = reading.ROOT) -> str | None:
    """Why a process on the CPUs of `mask` cannot have `policy` here."""
    try:
        nodes, targets = memory_nodes(root), target_nodes(policy, mask, root)
    except reading.Unknown as unknown:
        return f"the kernel does not say which NUMA nodes there are: {unknown}"
    if len(nodes) < 2:
        return "1 NUMA node: no contrast" if nodes else "no NUMA node has memory for this process"
    if not set(targets) <= set(nodes):
        return f"the memory of NUMA node {targets[0]} is not allowed to this process"
    if shutil.which("numactl") is None:
        return INSTALL
    return trial(policy_words(policy, mask, root))


@functools.cache
def inherited(root: Path = reading.ROOT) -> str | None:
    """Why a worker of this process would not have the kernel's own policy; None where it would."""
    try:
        policy = pages.process_policy(root)
    except reading.Unknown:
        return None  # a kernel without NUMA: there is no other policy
    if policy in ("default", "local"):
        return None
    return f"started under numactl ({policy}), which workers would inherit: start without it"


@functools.cache
def trial(words: tuple[str, ...]) -> str | None:
    """Why numactl cannot set a policy here, found by trying it once; None where it can."""
    command = [shutil.which("numactl") or "numactl", *words, "true"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"numactl cannot be run: {error}"
    if run.returncode == 0:
        return None
    message = next(
        (line for line in run.stderr.splitlines() if line.strip()), "it does not say why"
    )
    hint = "; in a container start it with --cap-add SYS_NICE" if "permitted" in message else ""
    return f"numactl {' '.join(words)} fails here: {message.strip()}{hint}"


class Numa(Knob):
    """Which NUMA nodes the pages are on: where they are used, all in turns, or one."""

    def why_not(self, experiment: Experiment) -> str | None:
        policy = experiment.system.numa_policy
        if policy == "default":
            return inherited()
        return reason(policy, choose(read_topology(), experiment.system))

    def command(self, experiment: Experiment, placement: Placement) -> tuple[str, ...]:
        policy = experiment.system.numa_policy
        if policy == "default":
            return ()
        return (shutil.which("numactl") or "numactl", *policy_words(policy, placement.cpus))

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        return in_force(experiment.system.numa_policy, placement.cpus)


def in_force(policy: str, mask: tuple[int, ...], root: Path = reading.ROOT) -> list[Check]:
    """Whether this process's anonymous pages are under `policy`, and on the nodes it names.

    For the default the policy of the process has to be the kernel's: a caller's numactl would
    pass on to it. Local pages may go elsewhere where a node is full, so only their policy is
    looked at; the kernel takes "local" and "default" for the same.
    """
    from cputrain.knobs.inforce import Check

    name = "memory policy"
    if policy == "default":
        try:
            actual = pages.process_policy(root)
        except reading.Unknown:
            return []  # a kernel without NUMA: there is no other policy
        return [Check(name, "default", actual, actual in ("default", "local"))]
    try:
        nodes = target_nodes(policy, mask, root)
        maps = pages.numa_maps(root)
        policies = {pages.parse_policy(written) for written in maps.policies}
    except reading.Unknown as unknown:
        return [Check(name, policy, f"cannot be shown: {unknown}", False)]
    shown = {written: f"{n >> 20} MiB" for written, n in maps.policies.items()}
    if policy == "local":
        modes = {pages.Policy("local"), pages.Policy("default")}
        return [Check(name, "local", shown, policies <= modes)]
    expected = pages.Policy("bind" if policy == "one_node" else "interleave", nodes)
    checks = [Check(name, str(expected), shown, policies == {expected})]
    sizes = {node: f"{n >> 20} MiB" for node, n in sorted(maps.nodes.items())}
    where = "nodes of the anonymous pages"
    if policy == "one_node":
        return [*checks, Check(where, f"{nodes[0]} alone", sizes, set(maps.nodes) == set(nodes))]
    least = SHARE * sum(maps.nodes.values()) / len(nodes)
    even = all(maps.nodes.get(node, 0) >= least for node in nodes)
    return [*checks, Check(where, f"shared out among {', '.join(map(str, nodes))}", sizes, even)]
