"""What is set now: made trees, this process, and a process with threads bound."""

import json
import os
import subprocess
import sys

import pytest

from cputrain.machine import power, state, temperature
from cputrain.machine.reading import Unknown

CPU = "/sys/devices/system/cpu"


def freq(tree, cpus, **files):
    for cpu in cpus:
        tree.put({f"{CPU}/cpu{cpu}/cpufreq/{name}": value for name, value in files.items()})


def own(tree):
    """What /proc says of a process of three threads."""
    for thread, cpus in ((7, "0-1"), (8, "0"), (9, "0-1")):
        tree.put({f"/proc/self/task/{thread}/status": f"Name:\tx\nCpus_allowed_list:\t{cpus}"})
    maps = "7f00-7f01 r-xp 0 00:00 1 /usr/lib/libgomp.so.1.0.0\n7f02-7f03 rw-p 0 00:00 0 \n"
    tree.put({"/proc/self/maps": maps + "7f04-7f05 r-xp 0 00:00 2 /usr/lib/libjemalloc.so.2"})
    tree.put({"/proc/self/smaps_rollup": "0-1 ---p 0 00:00 0 [rollup]\nAnonHugePages: 4096 kB"})
    tree.put({"/proc/self/numa_maps": "0 default anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=4"})


def test_a_server(server):
    limits = {"scaling_min_freq": 800000, "scaling_max_freq": 3500000}
    freq(server, range(16), scaling_driver="intel_pstate", **limits)
    freq(server, range(16), energy_performance_preference="balance_performance")
    freq(server, (4,), scaling_governor="performance", scaling_max_freq=3600000)
    server.put({"/sys/kernel/mm/transparent_hugepage/defrag": "always [madvise] never"})
    server.put({"/sys/class/hwmon/hwmon3/name": "coretemp"})
    for key, label, value in (("temp1", "Package id 0", 61000), ("temp2", "Core 0", 90000)):
        server.put({f"/sys/class/hwmon/hwmon3/{key}_label": label})
        server.put({f"/sys/class/hwmon/hwmon3/{key}_input": value})
    server.put({power.PROFILE: "balanced", f"/{power.SUPPLIES}/AC/type": "Mains"})
    own(server)
    readings = state.read((0, 1, 2, 3), server.root)
    assert {key: value for key, value in readings.items() if "threadpools" not in key} == {
        "cpufreq_driver": "intel_pstate",
        "governor": "powersave",
        "energy_preference": "balance_performance",
        "turbo": "on",
        "power_source": "mains",
        "platform_profile": "balanced",
        "min_ghz": 0.8,
        "max_ghz": 3.5,
        "huge_pages": "always",
        "huge_pages_defrag": "madvise",
        "anon_huge_bytes": 4 << 20,
        "temperature_c": 61.0,
        "load_1m": 12.5,
        "openmp": ["/usr/lib/libgomp.so.1.0.0"],
        "allocators": ["/usr/lib/libjemalloc.so.2"],
        "masks": {"0-1": 2, "0": 1},
        "numa_bytes": {"0": 4096, "1": 8192},
        "numa_policies": {"default": 12288},
    }
    whole = state.read(range(16), server.root)
    assert (whole["governor"], whole["max_ghz"]) == ("performance, powersave", 3.6)


@pytest.mark.parametrize(
    ("file", "said", "turbo"),
    [
        (f"{CPU}/intel_pstate/no_turbo", 0, "on"),
        (f"{CPU}/intel_pstate/no_turbo", 1, "off"),
        (f"{CPU}/cpufreq/boost", 1, "on"),
        (f"{CPU}/cpufreq/boost", 0, "off"),
    ],
)
def test_turbo_is_told_by_either_switch(bare, file, said, turbo):
    bare.put({file: said})
    assert state.read((0,), bare.root)["turbo"] == turbo


@pytest.mark.parametrize(("each", "turbo"), [((1, 1), "on"), ((0, 0), "off"), ((1, 0), None)])
def test_turbo_is_told_by_the_switch_of_each_policy(bare, each, turbo):
    """Where the machine has none for all of them."""
    for number, said in enumerate(each):
        folder = f"{CPU}/cpufreq/policy{number}"
        bare.put({f"{folder}/affected_cpus": number, f"{folder}/boost": said})
    readings = state.read((0,), bare.root)
    assert readings["turbo"] == turbo
    assert turbo or readings["turbo_reason"] == "the CPUs' switches differ"


def test_what_a_machine_does_not_say_is_null_with_a_reason(tree):
    readings = state.read((0,), tree.root)
    for key in [key for key in readings if not key.endswith("_reason")]:
        if key != "threadpools":
            assert readings[key] is None and readings[f"{key}_reason"]
    assert "no cpufreq here" in readings["governor_reason"]
    json.dumps(readings, allow_nan=False)


def test_a_preference_that_only_some_drivers_have(server):
    assert (
        "energy_performance_preference" in state.read((0,), server.root)["energy_preference_reason"]
    )


def test_this_process():
    cpus = sorted(os.sched_getaffinity(0))
    readings = state.read(cpus)
    assert sum(readings["masks"].values()) == len(list(os.scandir("/proc/self/task")))
    assert json.loads(json.dumps(readings, allow_nan=False)) == readings
    assert all(f"{key}_reason" in readings for key, value in readings.items() if value is None)


def test_bound_threads_and_loaded_libraries_show():
    pytest.importorskip("torch")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one CPU is allowed")
    program = """
import json, torch
from cputrain.machine import state
torch.set_num_threads(2)
torch.ones(1 << 20).add_(1.0)
print(json.dumps(state.read(())))
"""
    env = {**os.environ, "OMP_PROC_BIND": "close", "OMP_PLACES": f"{{{cpus[0]}}},{{{cpus[1]}}}"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)
    readings = json.loads(done.stdout)
    assert {str(cpus[0]), str(cpus[1])} <= readings["masks"].keys()
    assert any("omp" in path for path in readings["openmp"]) and readings["allocators"] == []
    assert {pool["user_api"] for pool in readings["threadpools"]} >= {"openmp"}


@pytest.mark.parametrize(
    ("files", "celsius"),
    [
        ({"hwmon/hwmon0/name": "k10temp", "hwmon/hwmon0/temp1_input": 45250}, 45.25),
        ({"thermal/thermal_zone0/type": "x86_pkg_temp", "thermal/thermal_zone0/temp": 38000}, 38),
        ({"thermal/thermal_zone0/type": "cpu-thermal", "thermal/thermal_zone0/temp": 51000}, 51),
    ],
)
def test_sensors_of_several_kinds(tree, files, celsius):
    tree.put({f"/sys/class/{name}": value for name, value in files.items()})
    tree.put({"/sys/class/hwmon/hwmon9/name": "nvme", "/sys/class/hwmon/hwmon9/temp1_input": 80000})
    tree.put({"/sys/class/thermal/thermal_zone7/type": "acpitz"})
    tree.put({"/sys/class/thermal/thermal_zone7/temp": 99000})
    assert temperature.cpu_celsius(tree.root) == celsius


def test_no_sensor_of_the_cpu(tree):
    tree.put({"/sys/class/hwmon/hwmon9/name": "nvme", "/sys/class/hwmon/hwmon9/temp1_input": 80000})
    with pytest.raises(Unknown, match="no sensor"):
        temperature.cpu_celsius(tree.root)


def test_a_worker_records_state_clock_and_energy(leased):
    pytest.importorskip("torch")
    from cputrain.experiment import Experiment
    from cputrain.record.cell import CellKey
    from cputrain.run.cell import CellRun

    small = Experiment().but(n_layer=1, n_embd=32, seq_len=16, cores=1, threads=1)
    small = small.but(steps=4, samples=1, tries=1, warm_up_steps=2)
    cell = CellRun(CellKey("Trial", ("x",)), small)
    cell.sample()
    cell.settle()
    record = json.loads((cell.folder / "run.json").read_text())["workers"][-1]
    assert record["status"] == "ok"
    (mask,) = record["placement"]["cpus"]
    assert record["state"]["masks"].keys() == {str(mask)}
    assert record["state"]["huge_pages"] or record["state"]["reasons"]["huge_pages"]
    noise = record["samples"][0]["noise"]
    for key in ("clock_ghz", "energy_j"):
        assert noise[key] is not None or noise["reasons"][key]
    assert noise["clock_ghz"] is None or 0.3 < noise["clock_ghz"] < 8.0
