"""This machine in asv's registry. The real one is never touched: HOME is a temporary folder."""

import json
import platform
import re

import pytest

pytest.importorskip("asv")

from asv.machine import Machine, MachineCollection

from cputrain.machine import facts, registry
from cputrain.machine.reading import MachineError

pytestmark = pytest.mark.tools

HOST = "somehost"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty HOME on a host of a known name."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    real = platform.uname()
    monkeypatch.setattr(platform, "node", lambda: HOST)
    monkeypatch.setattr(platform, "uname", lambda: real._replace(node=HOST))
    return folder


def entries(home):
    return json.loads((home / ".asv-machine.json").read_text())


def test_the_name_is_readable_and_stable(server):
    name = registry.machine_name(server.root)
    assert re.fullmatch(r"intel-xeon-platinum-8370c-8c-[0-9a-f]{4}", name)
    assert registry.machine_name(server.root) == name


def test_two_machines_of_one_kind_have_two_names(server):
    first = registry.machine_name(server.root)
    server.put({"/etc/machine-id": "another"})
    assert registry.machine_name(server.root) != first


@pytest.mark.parametrize("machine_id", ["", "uninitialized"])
def test_without_a_machine_id_the_next_best_thing(server, machine_id):
    server.put({"/etc/machine-id": machine_id, "/sys/class/dmi/id/product_uuid": "u-1"})
    first = registry.machine_name(server.root)
    server.put({"/sys/class/dmi/id/product_uuid": "u-2"})
    assert registry.machine_name(server.root) != first


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
    assert registry.machine_name(tree.root).startswith(f"{slug}-")


def test_a_machine_that_says_nothing_has_a_name_all_the_same(tree):
    registry.check_name(registry.machine_name(tree.root))


def test_registered_under_its_name_and_found_by_asv_under_the_hosts(server, home):
    done = registry.register(root=server.root)
    name = done.name
    assert done.note is None
    found = entries(home)
    assert set(found) == {name, HOST, "version"}
    assert found[HOST] == found[name] and found[name]["machine"] == name
    assert set(found[name]) == {field for field, _ in Machine.fields} | set(facts.KEYS)
    assert found[name]["l3"] == "49152K x 2" and found[name]["memory_speed"] is None
    assert MachineCollection.load(HOST)["machine"] == name
    assert Machine.load(machine_name=None).machine == name


def test_again_changes_nothing(server, home):
    first = registry.register(root=server.root)
    path = home / ".asv-machine.json"
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert registry.register(root=server.root) == first
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    Machine.load(machine_name=None)  # asv writes its own way
    assert registry.register(root=server.root) == first
    assert list(home.iterdir()) == [path]


def test_a_new_kernel_is_the_same_machine(server, home):
    name = registry.register(root=server.root).name
    server.put({"/proc/sys/kernel/osrelease": "7.0"})
    assert registry.register(root=server.root).name == name
    assert entries(home)[HOST]["kernel"] == "7.0"


def test_what_others_registered_stays(server, home):
    MachineCollection.save("laptop", {"machine": "laptop", "os": "Linux"})
    MachineCollection.save(HOST, {"machine": HOST, "os": "Linux"})
    done = registry.register(root=server.root)
    found = entries(home)
    assert found["laptop"] == {"machine": "laptop", "os": "Linux"}
    assert found[HOST] == {"machine": HOST, "os": "Linux"}
    assert found[done.name]["machine"] == done.name
    assert done.note is not None and f"--machine {done.name}" in done.note


def test_an_own_entry_of_an_older_name_is_renewed(server, home):
    registry.register(root=server.root, name="old")
    done = registry.register(root=server.root)
    assert done.note is None and entries(home)[HOST]["machine"] == done.name


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '"x"', '{"a": {}}', '{"version": 9}', '{"version": 1, "a": 2}'],
)
def test_a_broken_registry_is_one_line_and_left_alone(server, home, content):
    path = home / ".asv-machine.json"
    path.write_text(content)
    with pytest.raises(MachineError) as caught:
        registry.register(root=server.root)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    assert path.read_text() == content


def test_a_registry_that_cannot_be_written_is_one_line(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="file"):
        registry.register(tmp_path / "file" / "registry.json", server.root)


@pytest.mark.parametrize("name", ["quick", "asv", "version", "", ".", "..", "a/b", "a b", "x" * 65])
def test_names_that_cannot_be(server, home, name):
    with pytest.raises(MachineError):
        registry.register(root=server.root, name=name)
    assert list(home.iterdir()) == []
