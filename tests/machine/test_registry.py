"""This machine in asv's registry. The real one is never touched: HOME is a temporary folder."""

import json
import platform
from pathlib import Path

import pytest

pytest.importorskip("asv")

from asv.machine import Machine, MachineCollection

from cputrain import paths
from cputrain.machine import facts, identity, registry
from cputrain.machine.reading import MachineError

pytestmark = pytest.mark.tools

HOST = "somehost"
QUOTA = "/sys/fs/cgroup/user.slice/job/cpu.max"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty HOME on a host of a known name."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(paths, "RESULT", tmp_path / "result")
    real = platform.uname()
    monkeypatch.setattr(platform, "node", lambda: HOST)
    monkeypatch.setattr(platform, "uname", lambda: real._replace(node=HOST))
    return folder


@pytest.fixture
def server(server):
    """One all of whose CPUs may be used."""
    server.put({QUOTA: "max 100000"})
    return server


def entries(home):
    return json.loads((home / ".asv-machine.json").read_text())


def test_registered_under_its_name_and_found_by_asv_under_the_hosts(server, home):
    done = registry.register(root=server.root)
    name = done.name
    assert done.note is None
    registered = entries(home)
    assert set(registered) == {name, HOST, "version"}
    assert registered[HOST] == registered[name] and registered[name]["machine"] == name
    assert set(registered[name]) == {field for field, _ in Machine.fields} | set(facts.KEYS)
    assert registered[name]["l3"] == "49152K x 2" and registered[name]["memory_speed"] is None
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


def another_model(server):
    """A CPU of another generation that calls itself the same, as hosts of virtual machines do."""
    text = (server.root / "proc/cpuinfo").read_text()
    server.put({"/proc/cpuinfo": text.replace("model\t\t: 106", "model\t\t: 207")})


def more_memory(server):
    server.put({"/proc/meminfo": "MemTotal: 536870912 kB"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (another_model, "cpu_model 106 and not 207"),
        (more_memory, "memory 256.0 GiB and not 512.0 GiB"),
    ],
)
@pytest.mark.parametrize("named", [identity.plain_name, identity.machine_name])
def test_another_machine_of_the_same_id_gets_a_name_of_its_own(server, home, named, change, said):
    first = registry.register(root=server.root, name=named(server.root)).name
    assert registry.register(root=server.root) == (first, None)
    change(server)
    done = registry.register(root=server.root)
    assert done.name != first
    assert done.note == f"machine {first} has {said}: this one is {done.name}"
    registered = entries(home)
    assert registered[first]["cpu_model"] == "106" and registered[first]["memory"] == "256.0 GiB"
    assert registered[HOST]["machine"] == done.name
    assert registry.register(root=server.root) == (done.name, None)


def test_results_of_another_machine_keep_its_name_from_this_one(server, tmp_path):
    plain = identity.plain_name(server.root)
    kept = tmp_path / "result/asv-quick" / plain / "machine.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({"machine": plain, "cpu": "Another CPU", "kernel": "1"}))
    done = registry.register(root=server.root)
    assert done.name != plain and "cpu Another CPU and not Intel(R) Xeon(R)" in done.note
    kept.write_text(json.dumps({"machine": plain, "memory": "251.0 GiB", "kernel": "1"}))
    assert registry.register(root=server.root).name == plain, "results of before, on this machine"


def test_a_name_that_another_machine_has_is_refused_in_one_line(server, home):
    name = identity.machine_name(server.root)
    entry = {**facts.static_facts(server.root), "machine": name, "cores": "64"}
    MachineCollection.save(name, entry)
    before = (home / ".asv-machine.json").read_bytes()
    for given in (None, name):
        with pytest.raises(MachineError, match="known with cores 64 and not 8 as here") as caught:
            registry.register(root=server.root, name=given)
        assert "\n" not in str(caught.value)
    assert (home / ".asv-machine.json").read_bytes() == before


def test_what_others_registered_stays(server, home):
    MachineCollection.save("laptop", {"machine": "laptop", "os": "Linux"})
    MachineCollection.save(HOST, {"machine": HOST, "os": "Linux"})
    done = registry.register(root=server.root)
    registered = entries(home)
    assert registered["laptop"] == {"machine": "laptop", "os": "Linux"}
    assert registered[HOST] == {"machine": HOST, "os": "Linux"}
    assert registered[done.name]["machine"] == done.name
    assert done.note is not None and f"--machine {done.name}" in done.note


def test_what_asv_wrote_by_itself_gives_way(server, home):
    """`asv machine --yes` asks nobody: asv then files this machine under our name too."""
    by_asv = {**Machine.get_defaults(), "machine": HOST, "os": "Linux of another kernel"}
    MachineCollection.save(HOST, by_asv)
    done = registry.register(root=server.root)
    assert done.note is None and entries(home)[HOST]["machine"] == done.name


def test_an_own_entry_of_an_older_name_is_renewed(server, home):
    registry.register(root=server.root, name="old")
    done = registry.register(root=server.root)
    assert done.note is None and entries(home)[HOST]["machine"] == done.name


def test_a_part_of_a_machine_has_a_name_and_results_of_its_own(server, home):
    whole = registry.register(root=server.root)
    server.put({QUOTA: "250000 100000"})
    part = registry.register(root=server.root)
    assert part.name == f"{whole.name}-quota2.5" and part.note is not None
    assert part.note.startswith("the time of 2.5 CPUs (a cgroup's quota) may be used here")
    assert entries(home)[HOST]["machine"] == part.name
    server.put({QUOTA: "max 100000"})
    assert registry.register(root=server.root) == whole
    assert entries(home)[HOST]["machine"] == whole.name
    assert set(entries(home)) == {whole.name, part.name, HOST, "version"}


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


def test_a_registry_that_cannot_be_written_is_one_line(server):
    with pytest.raises(MachineError, match=r"cannot be written: .*; HOME has to be a") as why:
        registry.register(Path("/proc/registry.json"), server.root)  # for root too
    assert "\n" not in str(why.value)


def test_a_registry_that_cannot_be_read_is_one_line(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="Not a directory"):
        registry.register(tmp_path / "file" / "registry.json", server.root)


@pytest.mark.parametrize(
    "name", ["quick", "asv", "version", "example", "", ".", "..", "a/b", "a b", "x" * 65]
)
def test_names_that_cannot_be(server, home, name):
    with pytest.raises(MachineError):
        registry.register(root=server.root, name=name)
    assert list(home.iterdir()) == []
