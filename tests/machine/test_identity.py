"""A machine's name: the same from run to run, another for each machine, clones of a disk too."""

import platform
import re
import shutil
import subprocess
import sys

import pytest

from cputrain.machine import identity, registry


def test_the_name_is_readable_and_stable(server):
    name = identity.machine_name(server.root)
    assert re.fullmatch(r"intel-xeon-platinum-8370c-8c-[0-9a-f]{4}-quota1.5", name)
    assert identity.machine_name(server.root) == name


def test_two_machines_of_one_kind_have_two_names(server):
    first = identity.machine_name(server.root)
    server.put({"/etc/machine-id": "another"})
    assert identity.machine_name(server.root) != first


@pytest.mark.parametrize("machine_id", ["", "uninitialized"])
def test_without_a_machine_id_the_next_best_thing(server, machine_id):
    server.put({"/etc/machine-id": machine_id, "/sys/class/dmi/id/product_uuid": "u-1"})
    first = identity.machine_name(server.root)
    server.put({"/sys/class/dmi/id/product_uuid": "u-2"})
    assert identity.machine_name(server.root) != first


WITHOUT_NETWORK = ("unshare", "--map-root-user", "--net")
"""Before a command: in it there is no network card, as in a container that reaches nothing."""


def test_without_an_id_and_without_a_card_the_name_is_the_same_in_each_process(tree):
    able = shutil.which("unshare") and subprocess.run([*WITHOUT_NETWORK, "true"]).returncode == 0
    if not able:
        pytest.skip("no network can be taken away here: unshare --net is refused or not there")
    code = "import sys; from pathlib import Path; from cputrain.machine import identity\n"
    code += "print(identity.machine_name(Path(sys.argv[1])))"
    words = [*WITHOUT_NETWORK, sys.executable, "-c", code, str(tree.root)]
    names = {subprocess.run(words, capture_output=True, check=True).stdout for _ in range(2)}
    assert len(names) == 1 and names != {b""}


@pytest.mark.parametrize(
    "brand, slug",
    [
        ("AMD EPYC 7763 64-Core Processor", "amd-epyc-7763"),
        ("AMD Ryzen 7 5800H with Radeon Graphics", "amd-ryzen-7-5800h"),
        ("Intel(R) Core(TM) i5-2520M CPU @ 2.50GHz", "intel-core-i5-2520m"),
        ("13th Gen Intel(R) Core(TM) i7-1370P", "13th-gen-intel-core-i7-1370p"),
        ("???", platform.machine()),
    ],
)
def test_brands(tree, brand, slug):
    tree.put({"/proc/cpuinfo": f"model name\t: {brand}"})
    assert identity.machine_name(tree.root).startswith(f"{slug}-")


def test_a_machine_that_says_nothing_has_a_name_all_the_same(tree):
    registry.check_name(identity.machine_name(tree.root))


def test_kernel_microcode_and_firmware_do_not_count(server):
    first = identity.machine_name(server.root), identity.present(server.root)
    text = (server.root / "proc/cpuinfo").read_text()
    server.put(
        {
            "/proc/sys/kernel/osrelease": "7.0",
            "/proc/cpuinfo": text.replace("0xd0003a5", "0xd0003a6").replace("fpu ", "fpu new "),
            "/proc/meminfo": "MemTotal: 264241152 kB",
            "/sys/class/dmi/id/bios_version": "2.0",
            "/sys/devices/system/cpu/vulnerabilities/new": "Vulnerable",
        }
    )
    assert identity.machine_name(server.root) == first[0]
    now = identity.present(server.root)
    assert now != first[1] and identity.differences(first[1], now) == []


@pytest.mark.parametrize(
    "files",
    [
        {"/proc/meminfo": "MemTotal: 536870912 kB"},
        {"/proc/cpuinfo": "model name\t: Intel(R) Xeon(R) Platinum 8370C CPU\nmodel\t: 207"},
        {"/sys/class/net/eno1/address": "3c:ec:ef:00:00:02"},
    ],
)
def test_clones_of_one_disk_have_a_name_each(server, files):
    card(server, "eno1", "3c:ec:ef:00:00:01")
    first = identity.machine_name(server.root), identity.plain_name(server.root)
    server.put(files)
    assert identity.plain_name(server.root) == first[1]
    assert identity.machine_name(server.root) != first[0]


def card(tree, name, address, assigned=0, where="device/driver"):
    folder = f"/sys/class/net/{name}"
    tree.put({f"{folder}/address": address, f"{folder}/addr_assign_type": assigned})
    tree.put({f"{folder}/{where}": ""})


def test_a_network_card_that_comes_and_goes_does_not_count(server):
    first = identity.machine_name(server.root)
    card(server, "veth1", "3c:ec:ef:00:00:03", where="flags")
    card(server, "eth0", "02:fc:00:00:00:01")  # a virtual machine's, given by its host
    card(server, "eth1", "3c:ec:ef:00:00:04", assigned=3)
    card(server, "wlan0", "3c:ec:ef:00:00:05")
    server.put({"/sys/class/net/wlan0/wireless/x": ""})
    dock = "/sys/devices/pci0/usb1/net/eth2"
    server.put({f"{dock}/address": "3c:ec:ef:00:00:06", f"{dock}/addr_assign_type": 0})
    server.put({f"{dock}/device/driver": ""})
    (server.root / "sys/class/net/eth2").symlink_to(server.root / dock.lstrip("/"))
    assert identity.machine_name(server.root) == first
    card(server, "eno1", "3c:ec:ef:00:00:01")
    assert identity.machine_name(server.root) != first


def test_what_one_of_two_does_not_say_is_no_difference(server, bare):
    now = identity.present(server.root)
    assert identity.differences({}, now) == identity.differences(now, {}) == []
    assert identity.differences({**now, "memory": "much", "cores": None}, now) == []
