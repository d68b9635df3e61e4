"""What a container or a virtual machine takes away and hides, on made trees."""

import os

import pytest

from cputrain.machine import surroundings

GROUP = "/sys/fs/cgroup/user.slice/job"


def finding_of(root, what):
    (finding,) = (f for f in surroundings.findings(root) if f.text.startswith(what))
    return finding


def allowed(monkeypatch, count):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(count)))


def test_a_quota_below_the_mask(server, monkeypatch):
    allowed(monkeypatch, 4)
    finding = finding_of(server.root, "cgroup quota: the time of 1.5 CPUs")
    assert finding.level == "warn" and finding.do
    allowed(monkeypatch, 1)
    assert finding_of(server.root, "cgroup quota: the time of 1.5 CPUs").level == "ok"


def test_what_a_quota_leaves_is_advised_of_the_mask_and_of_cores_first(server, monkeypatch):
    """CPUs 1 and 9 are one core."""
    server.put({f"{GROUP}/cpu.max": "200000 100000"})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 2, 9, 10})
    assert finding_of(server.root, "cgroup quota: the time of 2 CPUs").do.startswith(
        "start under taskset -c 1-2,"
    )
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 9, 10})
    assert "taskset -c 1,10," in finding_of(server.root, "cgroup quota: the time of 2 CPUs").do


@pytest.mark.parametrize("name", ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"])
def test_a_cpuset_that_leaves_fewer_cpus_than_are_online(server, name):
    server.put({f"{GROUP}/{name}": "0-3,8"})
    finding = finding_of(server.root, "cpuset: CPUs 0-3,8 of 16")
    assert finding.level == "warn" and finding.do
    server.put({f"{GROUP}/{name}": "0-15"})
    assert finding_of(server.root, "cpuset: all 16 CPUs").level == "ok"


def test_a_cpuset_that_nobody_tells_is_unknown(server):
    assert finding_of(server.root, "cpuset: ").level == "unknown"


def test_a_host_has_no_word_on_virtual_machines(server):
    said = " ".join(f.text for f in surroundings.findings(server.root))
    assert "hypervisor: none" in said and "container: none" in said
    assert "virtual machine" not in said and "processes outside" not in said


def test_a_virtual_machine_is_told_what_is_made_up(bare):
    assert finding_of(bare.root, "hypervisor: unnamed").level == "warn"
    finding = finding_of(bare.root, "virtual machine: the clock")
    assert finding.level == "warn" and "observed clock, an estimate" in finding.do


def test_a_container_is_told_what_it_cannot_see(server):
    server.put({"/.dockerenv": ""})
    finding = finding_of(server.root, "container: docker")
    assert finding.level == "warn" and "SYS_NICE" in finding.do
    said = " ".join(f.text for f in surroundings.findings(server.root))
    assert "virtual machine" not in said
