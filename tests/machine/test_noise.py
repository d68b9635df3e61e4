"""Noise: what the kernel counted between two readings, and why where it did not count."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest
from made_groups import group

from cputrain.machine import noise, reading, threads


def put_threads(tree, delays):
    for thread, (on_cpu, queued) in delays.items():
        tree.put({f"/proc/self/task/{thread}/schedstat": f"{on_cpu} {queued} 7"})


@pytest.fixture
def machine(tree):
    put_threads(tree, {1: (100, 0), 2: (50, 40)})
    cpus = sorted(os.sched_getaffinity(0))
    line = "100 0 0 900 0 0 0 {steal} 0 0"

    def stat(steal):
        lines = [f"cpu{id} {line.format(steal=steal)}" for id in cpus]
        return "\n".join(
            ["cpu 1 1 1 1 1 1 1 1 1 1", *lines, "cpu4095 0 0 0 1 0 0 0 9 0 0", "intr 1"]
        )

    tree.put({"/proc/stat": stat(0), "/proc/loadavg": "0.25 0 0 1/2 3"})
    tree.put({"/proc/self/cgroup": "0::/job", "/sys/fs/cgroup/job/cpu.stat": "throttled_usec 10"})
    tree.stat = stat
    noise._cpu_stats.cache_clear()
    return tree


def test_what_happened_in_between(machine):
    before = noise.read(machine.root)
    put_threads(machine, {1: (200, 3_000_000), 3: (9, 2_000_000)})
    machine.put({"/proc/stat": machine.stat(1000)})
    machine.put({"/sys/fs/cgroup/job/cpu.stat": "nr_throttled 1\nthrottled_usec 500010"})
    (machine.root / "proc/self/task/2/schedstat").unlink()
    after = noise.read(machine.root)
    readings = noise.between(before, after)
    # Thread 1 waited 3 ms, thread 3 is new and waited 2 ms, thread 2 is gone.
    assert readings["run_queue_share"] * (after.wall_ns - before.wall_ns) == pytest.approx(5e6)
    assert readings["steal_share"] == pytest.approx(1.0)
    assert readings["throttled_s"] == pytest.approx(0.5)
    assert readings["load_1m"] == 0.25
    assert not [key for key in readings if key.endswith("_reason")]


def test_of_nested_cgroups_the_one_that_held_back_most_counts(machine):
    """What the outer one holds back is no second time that the inner one has held back."""
    noise._cpu_stats.cache_clear()
    outer, inner = (f"/sys/fs/cgroup/{name}/cpu.stat" for name in ("slice", "slice/job"))
    machine.put({"/proc/self/cgroup": "0::/slice/job"})
    machine.put({outer: "throttled_usec 9000000", inner: "throttled_usec 100000"})
    before = noise.read(machine.root)
    machine.put({outer: "throttled_usec 9200000", inner: "throttled_usec 600000"})
    after = noise.read(machine.root)
    assert noise.between(before, after)["throttled_s"] == pytest.approx(0.5)
    assert noise.between(after, after)["throttled_s"] == 0.0


def test_stolen_time_is_that_of_the_given_cpus(machine):
    """A thread that pinning has bound to one of them asks for all."""
    before = noise.read(machine.root, cpus=[4095])
    machine.put({"/proc/stat": machine.stat(50).replace("cpu4095 0", "cpu4095 9")})
    readings = noise.between(before, noise.read(machine.root, cpus=[4095]))
    assert readings["steal_share"] == 0.0


def test_cpu_time_of_others_is_what_is_left_of_ours(machine):
    before = noise.read(machine.root, cpus=[4095])
    machine.put({"/proc/stat": machine.stat(0).replace("cpu4095 0 0 0 1 0", "cpu4095 80 9 9 7 8")})
    after = noise.read(machine.root, cpus=[4095])
    used = after.usage.ru_utime + after.usage.ru_stime
    used -= before.usage.ru_utime + before.usage.ru_stime
    others_cpu_s = noise.between(before, after)["others_cpu_s"]
    assert others_cpu_s == pytest.approx(98 * threads.TICK_NS / 1e9 - used)


def test_unknown_is_none_with_a_reason_and_never_zero(tree):
    noise._cpu_stats.cache_clear()
    readings = noise.between(noise.read(tree.root), noise.read(tree.root))
    for key in ("run_queue_share", "steal_share", "others_cpu_s", "throttled_s", "load_1m"):
        assert readings[key] is None
        assert readings[f"{key}_reason"] and "\n" not in readings[f"{key}_reason"]
    assert readings["minor_faults"] >= 0


def test_a_cgroup_of_version_1(machine):
    noise._cpu_stats.cache_clear()
    machine.put(
        {
            "/proc/self/cgroup": "1:cpu,cpuacct:/docker/9",
            "/sys/fs/cgroup/cpu,cpuacct/docker/9/cpu.stat": "throttled_time 2500000000",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.stat": "nr_periods 0",
        }
    )
    (held_s,) = noise.read(machine.root).throttled_s.values()
    assert held_s == pytest.approx(2.5)


def test_cpu_time_by_thread(machine):
    assert threads.cpu_time_by_thread(machine.root) == {1: 100, 2: 50}


def test_cpu_time_by_thread_without_schedstat(tree):
    fields = " ".join(str(n) for n in range(3, 53))
    tree.put({"/proc/self/task/7/stat": f"7 (a ) b) {fields}"})
    assert threads.cpu_time_by_thread(tree.root) == {7: (14 + 15) * threads.TICK_NS}


def test_no_threads_to_read_is_a_reason(tree):
    with pytest.raises(reading.Unknown):
        threads.cpu_time_by_thread(tree.root)


def test_a_reading_can_be_written_as_json():
    json.dumps(noise.between(noise.read(), noise.read()), allow_nan=False)


def test_threads_that_work_are_seen_here():
    stop = threading.Event()
    idle = threading.Thread(target=stop.wait)
    idle.start()
    before = threads.cpu_time_by_thread()
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass
    after = threads.cpu_time_by_thread()
    stop.set()
    idle.join()
    assert after[threading.get_native_id()] - before[threading.get_native_id()] > 2e7
    assert after[idle.native_id] - before.get(idle.native_id, 0) < 1e7


RIVAL = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
parent = os.getpid()
if (rival := os.fork()) == 0:
    while os.getppid() == parent:
        pass
    os._exit(0)
from cputrain.machine import noise
before = noise.read()
end = time.thread_time() + 0.2
while time.thread_time() < end:
    pass
readings = noise.between(before, noise.read())
os.kill(rival, 9)
os.waitpid(rival, 0)
print(readings["run_queue_share"], readings["involuntary_switches"], readings["others_cpu_s"])
"""


def test_a_rival_on_our_cpu_is_told():
    command = [sys.executable, "-c", RIVAL]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    share, switches, others_s = done.stdout.split()
    assert float(others_s) > 0.1
    if share == "None":
        pytest.skip("this kernel has no schedstat")
    assert float(share) > 0.05
    assert int(switches) > 0


HELD_BACK = """
import os, sys, time
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
from cputrain.machine import noise
before = noise.read()
end = time.monotonic() + 1
while time.monotonic() < end:
    pass
print(noise.between(before, noise.read())["throttled_s"])
"""


def test_a_quota_that_holds_us_back_is_seen():
    limits = {1: {"cpu.cfs_quota_us": "20000"}, 2: {"cpu.max": "20000 100000"}}
    with group("cpu", limits) as tasks:
        command = [sys.executable, "-c", HELD_BACK, str(tasks)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert float(done.stdout) > 0
