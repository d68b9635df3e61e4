"""Static facts: a fixed set of keys, strings, a reason for each unknown."""

import struct

import pytest

from cputrain.machine import facts, quota, reading, smbios

KEYS = {
    *("cpu_vendor", "cpu_family", "cpu_model", "cpu_stepping", "microcode", "isa"),
    *("l1d", "l1i", "l2", "l3", "sockets", "cores", "threads_per_core", "numa_nodes"),
    *("numa_distances", "memory", "memory_speed", "hypervisor", "container", "kernel"),
    *("mitigations", "glibc", "cgroup_cpu_quota", "cgroup_cpuset", "smt_siblings"),
}


def test_a_server(server):
    machine_facts = facts.read_facts(server.root)
    expected = {
        "cpu_vendor": "GenuineIntel",
        "cpu_family": "6",
        "cpu_model": "106",
        "cpu_stepping": "6",
        "microcode": "0xd0003a5",
        "isa": "sse4_2 avx avx2 fma f16c avx512f avx512bw avx512_vnni",
        "l1d": "48K x 8",
        "l1i": "32K x 8",
        "l2": "1280K x 8",
        "l3": "49152K x 2",
        "sockets": "2",
        "cores": "8",
        "threads_per_core": "2",
        "smt_siblings": "0,8; 1,9; 2,10; 3,11; 4,12; 5,13; 6,14; 7,15",
        "numa_nodes": "2",
        "numa_distances": "10 21; 21 10",
        "memory": "256.0 GiB",
        "memory_speed": None,
        "hypervisor": "none",
        "container": "none",
        "kernel": "6.1.0-18-amd64",
        "mitigations": "mitigated: spectre_v1; vulnerable: mds",
        "cgroup_cpu_quota": "1.5 CPUs",
        "cgroup_cpuset": None,
    }
    assert {key: machine_facts.values[key] for key in expected} == expected
    assert set(machine_facts.reasons) == {
        key for key, value in machine_facts.values.items() if value is None
    }


@pytest.mark.parametrize("machine", ["server", "bare", "tree"])
def test_the_keys_are_fixed_and_values_are_strings(machine, request):
    machine_facts = facts.read_facts(request.getfixturevalue(machine).root)
    assert set(machine_facts.values) == KEYS == set(facts.KEYS)
    for key, value in machine_facts.values.items():
        assert (value is None) == (key in machine_facts.reasons)
        assert value is None or (isinstance(value, str) and value and "\n" not in value)


def test_a_machine_that_says_hardly_anything_gets_no_numbers(bare):
    values = facts.static_facts(bare.root)
    assert values["hypervisor"] == "unnamed"
    for key in ("l3", "sockets", "cores", "numa_nodes", "memory", "cgroup_cpu_quota"):
        assert values[key] is None


def test_no_fact_is_too_long_for_a_folder_name(server):
    values = []
    for last in ("10", "11"):
        distances = " ".join(["10"] * 300 + [last])
        server.put({"/sys/devices/system/node/node0/distance": distances})
        values.append(facts.static_facts(server.root)["numa_distances"])
    assert all(len(f"numa_distances-{value}".encode()) <= 255 for value in values)
    assert values[0] != values[1]


def test_an_arm_machine(tree):
    tree.put({"/proc/cpuinfo": "processor: 0\nFeatures: fp asimd sve bf16\nCPU implementer: 0x41"})
    values = facts.static_facts(tree.root)
    assert (values["cpu_vendor"], values["isa"]) == ("0x41", "asimd bf16 sve")


@pytest.mark.parametrize(
    "files, kind",
    [
        ({"/.dockerenv": ""}, "docker"),
        ({"/run/.containerenv": "x"}, "podman"),
        ({"/run/systemd/container": "systemd-nspawn"}, "systemd-nspawn"),
        ({"/proc/self/cgroup": "0::/kubepods.slice/pod1"}, "kubepods"),
    ],
)
def test_containers(server, files, kind):
    server.put(files)
    assert facts.static_facts(server.root)["container"] == kind


def record(kind, body, strings=b"\0\0"):
    return struct.pack("<BBH", kind, 4 + len(body), 1) + body + strings


def module(size, rated, configured):
    body = bytearray(0x54 - 4)
    for offset, value in ((0x0C, size), (0x15, rated), (0x20, configured)):
        struct.pack_into("<H", body, offset - 4, value)
    return record(17, bytes(body), b"DIMM A\0Samsung\0\0")


def test_memory_speed(tree):
    table = record(0, b"\0" * 20, b"BIOS\0\0") + module(16384, 3200, 2933)
    tree.put({smbios.TABLES: table + module(0, 0, 0) + module(16384, 2400, 0) + record(127, b"")})
    assert smbios.memory_speed(tree.root) == "2400 MT/s and 2933 MT/s"


@pytest.mark.parametrize("table", [b"", b"\x11", b"\x11\x00\0\0\0\0", module(8, 1, 1)[:30]])
def test_a_table_that_tells_no_speed(tree, table):
    tree.put({smbios.TABLES: table})
    with pytest.raises(reading.Unknown):
        smbios.memory_speed(tree.root)


@pytest.mark.parametrize(
    "files, cpus",
    [
        ({"/sys/fs/cgroup/a/b/cpu.max": "max 100000"}, None),
        ({"/sys/fs/cgroup/a/b/cpu.max": "250000 100000"}, 2.5),
        ({"/sys/fs/cgroup/a/b/cpu.max": "max 100000", "/sys/fs/cgroup/a/cpu.max": "1 2"}, 0.5),
        ({"/sys/fs/cgroup/cpu.max": "300000 100000"}, 3.0),
    ],
)
def test_quota_of_version_2(tree, files, cpus):
    tree.put({"/proc/self/cgroup": "0::/a/b", **files})
    assert quota.cpu_quota(tree.root) == cpus


@pytest.mark.parametrize("us, cpus", [(-1, None), (50000, 0.5)])
def test_quota_of_version_1(tree, us, cpus):
    folder = "/sys/fs/cgroup/cpu/docker/1"
    tree.put({"/proc/self/cgroup": "1:cpu,cpuacct:/docker/1\n0::/"})
    tree.put({f"{folder}/cpu.cfs_quota_us": us, f"{folder}/cpu.cfs_period_us": 100000})
    assert quota.cpu_quota(tree.root) == cpus


@pytest.mark.parametrize(
    "cgroup, files, cpus",
    [
        ("0::/a/b", {"/sys/fs/cgroup/a/cpuset.cpus.effective": "0-3"}, "0-3"),
        (
            "0::/a/b",
            {
                "/sys/fs/cgroup/a/b/cpuset.cpus.effective": "2-3",
                "/sys/fs/cgroup/cpuset.cpus.effective": "0-15",
            },
            "2-3",
        ),
        # A container's mount: the path that the host gave is not there.
        ("0::/docker/1", {"/sys/fs/cgroup/cpuset.cpus.effective": "4,6"}, "4,6"),
        ("3:cpuset:/x\n0::/", {"/sys/fs/cgroup/cpuset/x/cpuset.effective_cpus": "1"}, "1"),
        (
            "3:cpuset:/x\n0::/",
            {
                "/sys/fs/cgroup/cpuset/x/cpuset.cpus": "",
                "/sys/fs/cgroup/cpuset/cpuset.cpus": "0-7",
            },
            "0-7",
        ),
    ],
)
def test_the_cpus_that_cgroups_allow(tree, cgroup, files, cpus):
    tree.put({"/proc/self/cgroup": cgroup, **files})
    (tree.root / "sys/fs/cgroup/a/b").mkdir(parents=True, exist_ok=True)
    machine_facts = facts.read_facts(tree.root)
    assert machine_facts.values["cgroup_cpuset"] == cpus


@pytest.mark.parametrize(
    "files, name",
    [
        ({"clocksource/clocksource0/available_clocksource": "tsc kvm-clock"}, "kvm"),
        ({"clocksource/clocksource0/available_clocksource": "tsc acpi_pm"}, "unnamed"),
    ],
)
def test_a_hypervisor_that_is_told_by_its_clock(bare, files, name):
    bare.put({f"/sys/devices/system/{file}": text for file, text in files.items()})
    assert facts.static_facts(bare.root)["hypervisor"] == name


def test_no_cgroups_is_unknown_and_a_broken_quota_too(tree):
    with pytest.raises(reading.Unknown):
        quota.cpu_quota(tree.root)
    tree.put({"/proc/self/cgroup": "0::/a", "/sys/fs/cgroup/a/cpu.max": "many 0"})
    with pytest.raises(reading.Unknown, match="many"):
        quota.cpu_quota(tree.root)
