"""What the doctor finds on made machines."""

import subprocess
import sys
import time

import pytest

from cputrain.commands import doctor
from cputrain.machine import busy, power


def finding_of(root, what):
    (finding,) = (f for f in doctor.findings(root, watch_s=0.0) if f.text.startswith(what))
    return finding


def test_a_server_that_will_disturb(server):
    assert finding_of(server.root, "governor: powersave").level == "warn"
    turbo = finding_of(server.root, "turbo: on")
    assert turbo.level == "warn" and "intel_pstate/no_turbo" in turbo.do and "echo 1" in turbo.do
    assert "16 CPUs on 8 cores" in finding_of(server.root, "SMT").text
    assert finding_of(server.root, "load: 12.5").level == "warn"
    assert finding_of(server.root, "swap: 4.0 GiB").level == "warn"
    assert finding_of(server.root, "memory: 128.0 GiB").level == "ok"
    assert finding_of(server.root, "transparent huge pages: always").level == "ok"
    assert finding_of(server.root, "hypervisor: none").level == "ok"
    assert finding_of(server.root, "run-queue delay").level == "warn"


def test_a_server_made_quiet(server):
    cpu = "/sys/devices/system/cpu"
    server.put({f"{cpu}/cpu{id}/cpufreq/scaling_governor": "performance" for id in range(16)})
    server.put({f"{cpu}/intel_pstate/no_turbo": 1, "/proc/loadavg": "0.00 0 0 1/2 3"})
    server.put({"/sys/fs/cgroup/user.slice/job/cpu.max": "max 100000"})
    server.put({"/proc/self/task/1/schedstat": "1 2 3"})
    for what in ("governor: performance", "turbo: off", "load: 0", "cgroup quota: none"):
        assert finding_of(server.root, what).level == "ok"
    assert finding_of(server.root, "run-queue delay").level == "ok"


def test_boost_of_other_drivers(server):
    (server.root / "sys/devices/system/cpu/intel_pstate/no_turbo").unlink()
    server.put({"/sys/devices/system/cpu/cpufreq/boost": 1})
    assert "echo 0" in finding_of(server.root, "turbo: on").do
    server.put({"/sys/devices/system/cpu/cpufreq/boost": 0})
    assert finding_of(server.root, "turbo: off").level == "ok"


def test_boost_of_each_policy(server):
    cpufreq = "/sys/devices/system/cpu/cpufreq"
    (server.root / "sys/devices/system/cpu/intel_pstate/no_turbo").unlink()
    for number in range(2):
        folder = f"{cpufreq}/policy{number}"
        server.put({f"{folder}/affected_cpus": number, f"{folder}/boost": 1})
    finding = finding_of(server.root, "turbo: on")
    assert finding.do == f"echo 0 | sudo tee {cpufreq}/policy0/boost {cpufreq}/policy1/boost"


@pytest.mark.parametrize(
    ("path", "on", "off"),
    [
        ("/sys/kernel/mm/damon/admin/kdamonds/1/state", "on", "off"),
        ("/sys/module/damon_reclaim/parameters/enabled", "Y", "N"),
    ],
)
def test_a_thread_of_the_kernel_that_looks_at_pages(server, path, on, off):
    server.put({"/sys/kernel/mm/damon/admin/kdamonds/0/state": "off", path: on})
    finding = finding_of(server.root, "DAMON: a thread of the kernel")
    assert finding.level == "warn" and f"echo {off} | sudo tee {path}" in finding.do
    server.put({path: off})
    assert finding_of(server.root, "DAMON: off").level == "ok"


def test_a_virtual_machine_that_gives_free_pages_back(server):
    assert finding_of(server.root, "free page reporting: off").level == "ok"
    features = "/sys/bus/virtio/drivers/virtio_balloon/virtio0/features"
    server.put({features: "011001" + 58 * "0"})
    finding = finding_of(server.root, "free page reporting: on")
    assert finding.level == "warn" and "page faults" in finding.do
    server.put({features: "111110" + 58 * "1"})
    assert finding_of(server.root, "free page reporting: off").level == "ok"


def test_a_machine_that_says_hardly_anything_is_unknown_and_not_ok(bare):
    for what in ("governor", "turbo", "SMT", "cgroup quota", "cpuset", "swap", "memory", "steal"):
        assert finding_of(bare.root, f"{what}: ").level == "unknown"
    assert finding_of(bare.root, "hypervisor: unnamed").level == "warn"
    assert finding_of(bare.root, "container: ").level == "unknown"


def test_every_finding_is_one_line_and_every_warning_says_what_to_do(server):
    for finding in doctor.findings(server.root, watch_s=0.0):
        assert "\n" not in finding.text + finding.do
        assert bool(finding.do) == (finding.level in ("warn", "missing"))


def test_busy_processes():
    before = {1: ("init", 5.0), 2: ("make (x)", 1.0), 3: ("sh", 1.0)}
    after = {1: ("init", 5.001), 2: ("make (x)", 2.5), 3: ("sh", 1.2), 4: ("new", 9.0)}
    heavy = busy.heavy(before, after, seconds=1.0)
    assert [(process.pid, process.name) for process in heavy] == [(2, "make (x)"), (3, "sh")]
    assert heavy[0].share == pytest.approx(1.5)
    assert busy.heavy(before, before, seconds=0.0) == []


def test_a_busy_process_is_seen_here():
    rival = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        end, pids = time.monotonic() + 60, []
        while rival.pid not in pids and time.monotonic() < end:
            before = busy.processes()
            time.sleep(0.4)
            pids = [process.pid for process in busy.heavy(before, busy.processes(), 0.4)]
    finally:
        rival.kill()
        rival.wait()
    assert rival.pid in pids


def test_the_verb_prints_what_to_do_below_each_warning(monkeypatch, capsys):
    made = [doctor.Finding("ok", "a: fine"), doctor.Finding("warn", "b: not", "mend it")]
    monkeypatch.setattr(doctor, "findings", lambda: made)
    assert doctor.main(None) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok      a: fine",
        "warn    b: not",
        "        -> mend it",
    ]


def test_a_laptop_s_power_is_looked_at(server):
    assert finding_of(server.root, "power: ").level == "unknown"
    assert finding_of(server.root, "platform profile: none here").level == "ok"
    supply = "/sys/class/power_supply/BAT0"
    server.put({f"{supply}/type": "Battery", f"{supply}/status": "Discharging"})
    server.put({power.PROFILE: "balanced"})
    assert finding_of(server.root, "power: battery").do == "plug it in"
    profile = finding_of(server.root, "platform profile: balanced")
    assert profile.do == "echo performance | sudo tee /sys/firmware/acpi/platform_profile"
    server.put({power.PROFILE: "performance", f"{supply}/status": "Charging"})
    assert finding_of(server.root, "power: mains").level == "ok"
    assert finding_of(server.root, "platform profile: performance").level == "ok"
