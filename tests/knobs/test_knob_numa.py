"""NUMA policies on made machines of two nodes: what is told, shown, and found out."""

import os

import pytest
from settled import settled

from cputrain.knobs import numa
from cputrain.knobs.inforce import NotInForce, require
from cputrain.machine.topology import memory_nodes
from cputrain.run import placement

MIB = 256
"""Pages of 4 KiB in one MiB."""


@pytest.fixture
def two_nodes(tmp_path):
    """CPUs 0 and 1 on node 0, 2 and 3 on node 1; node 2 is memory alone."""
    nodes = "sys/devices/system/node"
    files = {f"sys/devices/system/cpu/cpu{id}/topology/core_cpus_list": id for id in range(4)}
    files |= {f"{nodes}/node0/cpulist": "0-1", f"{nodes}/node1/cpulist": "2-3"}
    files |= {f"{nodes}/node2/cpulist": "", f"{nodes}/has_memory": "0-2"}
    files |= {"proc/self/status": "Name:\tx\nMems_allowed_list:\t0-2"}
    return write(tmp_path, files)


def write(root, files):
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{content}\n")
    return root


def with_pages(root, policy, mib, other=""):
    """A process with `mib` by node under one policy; its libraries' pages are elsewhere."""
    pages = " ".join(f"N{node}={n * MIB}" for node, n in enumerate(mib) if n)
    lines = [
        f"55e0 {policy} file=/usr/bin/python3 mapped=900 N1=900 kernelpagesize_kB=4",
        f"55e1 {policy} file=/usr/bin/python3 anon=1 dirty=1 N1=1 kernelpagesize_kB=4",
        f"55e2 {policy} heap anon={sum(mib) * MIB} dirty=1 active=0 {pages} kernelpagesize_kB=4",
        f"7ffc {policy}",
        *([other] if other else []),
    ]
    return write(root, {"proc/self/numa_maps": "\n".join(lines)})


@pytest.mark.parametrize(
    ("policy", "mask", "words"),
    [
        ("local", (0, 1, 2, 3), ("--localalloc",)),
        ("interleave", (0, 1, 2, 3), ("--interleave=0,1",)),
        ("interleave", (2, 3), ("--interleave=0,1",)),
        ("one_node", (0, 1), ("--membind=0",)),
        ("one_node", (2, 3), ("--membind=1",)),
    ],
)
def test_numactl_is_told_the_nodes_that_have_cpus_and_allowed_memory(
    two_nodes, policy, mask, words
):
    assert numa.policy_words(policy, mask, two_nodes) == words


@pytest.mark.parametrize(
    ("policy", "written", "mib"),
    [
        ("local", "local", (90, 10)),
        ("local", "default", (50, 50)),
        ("interleave", "interleave:0-1", (51, 49)),
        ("interleave", "interleave:0-1", (60, 40)),
        ("one_node", "bind:0", (100, 0)),
        ("one_node", "bind=static:0", (100, 0)),
        ("default", "default", (90, 10)),
    ],
)
def test_a_policy_in_force_is_shown(two_nodes, policy, written, mib):
    require(numa.in_force(policy, (0, 1), with_pages(two_nodes, written, mib)))


@pytest.mark.parametrize(
    ("policy", "written", "mib", "says"),
    [
        ("default", "interleave:0-1", (50, 50), "asked for default, found interleave:0-1"),
        ("default", "bind:0", (100, 0), "asked for default, found bind:0"),
        ("local", "interleave:0-1", (50, 50), "interleave:0-1"),
        ("local", "prefer:1", (0, 100), "prefer:1"),
        ("interleave", "default", (50, 50), "asked for interleave on 0, 1, found .*default"),
        ("interleave", "interleave:0", (100, 0), "interleave:0"),
        ("interleave", "interleave:0-2", (40, 30, 30), "interleave:0-2"),
        ("interleave", "weighted interleave:0-1", (50, 50), "weighted interleave"),
        ("interleave", "interleave:0-1", (100, 0), "shared out among 0, 1, found .*100 MiB"),
        ("interleave", "interleave:0-1", (80, 20), "shared out among"),
        ("one_node", "bind:1", (0, 100), "bind on 0, found .*bind:1"),
        ("one_node", "bind:0-1", (50, 50), "bind:0-1"),
        ("one_node", "prefer (many):0", (100, 0), r"prefer \(many\):0"),
        ("one_node", "bind:0", (99, 1), "asked for 0 alone, found .*1: '1 MiB'"),
        ("one_node", "bind:x", (99, 1), "cannot be shown"),
    ],
)
def test_a_policy_not_in_force_is_found(two_nodes, policy, written, mib, says):
    root = with_pages(two_nodes, written, mib)
    with pytest.raises(NotInForce, match=says):
        require(numa.in_force(policy, (0, 1), root))


def test_a_library_s_own_policy_on_some_memory_is_found(two_nodes):
    other = f"7fa0 bind:1 anon={MIB} dirty=1 N1={MIB} kernelpagesize_kB=4"
    root = with_pages(two_nodes, "interleave:0-1", (50, 49), other)
    with pytest.raises(NotInForce, match="bind:1"):
        require(numa.in_force("interleave", (0, 1), root))


def test_a_kernel_that_shows_no_pages_shows_no_policy(two_nodes):
    for policy in ("local", "interleave", "one_node"):
        with pytest.raises(NotInForce, match="cannot be shown: /proc/self/numa_maps"):
            require(numa.in_force(policy, (0, 1), two_nodes))
    assert numa.in_force("default", (0, 1), two_nodes) == []


def test_one_node_is_no_contrast(two_nodes, tmp_path):
    status = two_nodes / "proc/self/status"
    status.write_text("Mems_allowed_list:\t1\n")
    for policy in ("local", "interleave"):
        assert numa.reason(policy, (0, 1), two_nodes) == "1 NUMA node: no contrast"
    write(two_nodes, {"sys/devices/system/node/has_memory": "0"})
    status.write_text("Mems_allowed_list:\t0\n")
    assert numa.reason("local", (0, 1), two_nodes) == "1 NUMA node: no contrast"
    (two_nodes / "sys/devices/system/node/has_memory").unlink()
    assert "does not say which NUMA nodes" in numa.reason("local", (0, 1), two_nodes)


def test_a_node_whose_memory_a_cpuset_withholds(two_nodes):
    nodes = "sys/devices/system/node"
    write(two_nodes, {f"{nodes}/has_memory": "0-3", f"{nodes}/node3/cpulist": "4-5"})
    write(two_nodes, {"proc/self/status": "Mems_allowed_list:\t1,3"})
    assert memory_nodes(two_nodes) == (1, 3)
    assert "memory of NUMA node 0 is not allowed" in numa.reason("one_node", (0, 1), two_nodes)


def test_without_numactl_its_package_is_named(two_nodes, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert numa.reason("interleave", (0, 1), two_nodes) == numa.INSTALL


def test_what_numactl_may_not_do_is_a_reason(two_nodes, monkeypatch, tmp_path):
    tool = tmp_path / "numactl"
    tool.write_text("#!/bin/sh\necho 'set_mempolicy: Operation not permitted' >&2; exit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    numa.trial.cache_clear()
    said = numa.reason("interleave", (0, 1), two_nodes)
    numa.trial.cache_clear()
    assert "set_mempolicy: Operation not permitted" in said and "SYS_NICE" in said
    assert "\n" not in said


def test_the_default_asks_for_nothing():
    experiment = settled()
    assert numa.Numa().why_not(experiment) is None
    assert numa.Numa().command(experiment, placement.place(experiment)) == ()
