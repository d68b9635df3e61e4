"""Bad workers of every kind: each must end as a reason, in time, with nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from settled import NO_MODEL, settled

from cputrain.machine import processes
from cputrain.machine.topology import TopologyError
from cputrain.run import placement, wire
from cputrain.run.failed import CellFailed
from cputrain.run.launch import Worker

QUICK = settled(deadline_s=120)
PREAMBLE = "import json, os, sys, time; fd = int(sys.argv[1]); sys.stdin.readline(); "


def worker(code, experiment=QUICK):
    return Worker(experiment, NO_MODEL, command=(sys.executable, "-c", PREAMBLE + code))


def failure(code, experiment=QUICK):
    with pytest.raises(CellFailed) as caught:
        worker(code, experiment).ready()
    return caught.value


def test_a_worker_that_exits_says_so_with_its_last_words():
    failed = failure("print('about to give up', file=sys.stderr); sys.exit(3)")
    assert failed.status == "failed"
    assert "exited with status 3" in failed.reason and "about to give up" in failed.reason


def test_a_worker_that_exits_with_status_0_has_failed_too():
    assert "exited with status 0" in failure("sys.exit(0)").reason


def test_a_worker_that_segfaults_is_named_by_its_signal():
    failed = failure(
        'os.write(fd, b\'{"answer": "phase", "what": "in the first step"}\\n\'); '
        "os.kill(os.getpid(), 11)"
    )
    assert failed.status == "failed"
    assert "killed by SIGSEGV while in the first step" in failed.reason


def test_a_worker_that_hangs_is_killed_at_its_own_deadline():
    start = time.monotonic()
    failed = failure(
        "print('still here'); sys.stdout.flush(); time.sleep(600)", QUICK.but(deadline_s=1)
    )
    assert failed.status == "timed out"
    assert "after 1 s" in failed.reason and "still here" in failed.reason
    assert time.monotonic() - start < 300  # and not the 600 s that it sleeps


def test_a_worker_that_floods_stderr_neither_blocks_nor_fills_memory():
    flood = "[os.write(2, b'x' * 65536) for _ in range(2000)]; "
    flooding = worker(flood + "os.write(fd, b'{\"ready\": true}\\n'); input()")
    assert json.loads(flooding.line()) == {"ready": True}
    assert len(flooding._wire.printed) == wire.KEPT
    flooding.end()


def test_half_an_answer_is_no_answer():
    assert "exited with status 0" in failure("os.write(fd, b'{\"ready\": tr')").reason


GRANDCHILD = (
    "import subprocess; p = subprocess.Popen(['sleep', '600'], start_new_session=True, "
    "pass_fds=(fd,)); print(p.pid, flush=True); "
)


def grandchild_of(failed):
    return int(failed.reason.split("words: ")[1])


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_grandchild_that_holds_the_pipes_neither_hangs_us_nor_lives_on():
    start = time.monotonic()
    failed = failure(GRANDCHILD + "sys.exit(4)")
    assert "exited with status 4" in failed.reason
    assert time.monotonic() - start < 300  # and not the 600 s that it sleeps
    assert not is_running(grandchild_of(failed))


LAUNCHER = """
import sys
from cputrain.experiment import Experiment
from cputrain.record.requests import WorkerRequest
from cputrain.run.launch import Worker
request = WorkerRequest(folder="/nowhere", offline=True, model_cap_bytes=0)
code = "import sys, time; sys.stdin.readline(); time.sleep(600)"
w = Worker(Experiment(), request, command=(sys.executable, "-c", code))
print(w.process.pid, flush=True)
w.ready()
"""


def test_a_worker_dies_with_its_launcher():
    launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER], stdout=subprocess.PIPE)
    pid = int(launcher.stdout.readline())
    assert is_running(pid)
    os.kill(launcher.pid, signal.SIGKILL)
    launcher.wait()
    end = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_running(pid)


TELL = (
    "answer = {'cpus': sorted(os.sched_getaffinity(0)), 'env': dict(os.environ), "
    "'out': os.readlink('/proc/self/fd/1')}; "
    "os.write(fd, json.dumps(answer).encode() + b'\\n'); input()"
)


def told(experiment=QUICK):
    telling = worker(TELL, experiment)
    answer = json.loads(telling.line())
    telling.end()
    return answer


def test_the_affinity_mask_is_in_force_and_does_not_leak_into_the_next_experiment():
    here = sorted(os.sched_getaffinity(0))
    assert told(QUICK.but(cores=1))["cpus"] == here[:1]
    assert told(QUICK)["cpus"] == here
    assert sorted(os.sched_getaffinity(0)) == here


def test_the_caller_s_settings_do_not_leak_in(monkeypatch):
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_PROC_BIND", "MALLOC_ARENA_MAX"):
        monkeypatch.setenv(name, "7")
    env = told(QUICK.but(threads=1))["env"]
    assert env["OMP_NUM_THREADS"] == env["MKL_NUM_THREADS"] == "1"
    assert "OMP_PROC_BIND" not in env and "MALLOC_ARENA_MAX" not in env and "LD_PRELOAD" not in env


def test_all_that_a_compiler_leaves_is_in_a_folder_of_the_worker_s_own_and_goes_with_it():
    folders = []
    for _ in range(2):
        telling = worker(TELL, QUICK.but(compile="inductor"))
        env = json.loads(telling.line())["env"]
        folders.append(Path(env["TORCHINDUCTOR_CACHE_DIR"]))
        assert Path(env["TMPDIR"]).parent == folders[-1] and Path(env["TMPDIR"]).is_dir()
        telling.end()
    assert folders[0] != folders[1] and not any(folder.exists() for folder in folders)


def test_the_launcher_s_output_is_out_of_the_worker_s_reach():
    answer = told()
    assert answer["out"].startswith("pipe:") and answer["out"] != str(
        Path("/proc/self/fd/1").readlink()
    )


def test_threads_are_the_physical_cores_of_the_mask():
    assert placement.place(QUICK.but(cores=1)).threads == 1
    assert placement.place(QUICK.but(cores=1, threads=5)).threads == 5


def test_more_cores_than_allowed_is_a_reason_not_a_smaller_mask():
    cores = len(os.sched_getaffinity(0)) + 1
    with pytest.raises(TopologyError):
        placement.place(QUICK.but(cores=cores))
    assert str(cores) in placement.why_not(QUICK.but(cores=cores))


def test_a_model_that_does_not_fit_is_refused_before_it_starts():
    reason = placement.why_not(QUICK.but(n_embd=65536, n_head=64, n_layer=96))
    assert "GiB of memory" in reason
    assert placement.why_not(QUICK) is None


def test_inductor_without_a_compiler_is_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "C++ compiler" in placement.why_not(QUICK.but(compile="inductor"))
    assert placement.why_not(QUICK) is None


@pytest.mark.parametrize(
    ("cpuinfo", "runs"),
    [
        ("flags\t\t: fpu avx2 avx512f avx512bw\n", False),
        ("flags\t\t: fpu avx2 avx_vnni\n", True),
        ("flags\t\t: avx512_vnni\n", True),
        ("Features\t: asimd i8mm\n", True),
    ],
)
def test_int8_products_that_overflow_are_a_reason(monkeypatch, tmp_path, cpuinfo, runs):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(cpuinfo)
    exact = placement._int8_is_exact
    monkeypatch.setattr(placement, "_int8_is_exact", lambda: exact(tmp_path))
    reason = placement.why_not(settled(precision="q8_torchao"))
    assert (reason is None) == runs and (runs or "avx512_vnni" in reason)
    assert placement.why_not(settled(precision="q8")) is None


def test_ending_twice_is_safe():
    ended = worker(TELL)
    ended.end()
    ended.end()
    assert json.dumps(ended.process.returncode) == "-9"


def test_a_worker_that_the_kernel_killed_for_memory_is_told_from_another_kill(monkeypatch):
    kill = "os.kill(os.getpid(), 9)"
    assert failure(kill).status == "failed"
    kills = iter([3, 4])
    monkeypatch.setattr(processes, "oom_kills", lambda: next(kills))
    failed = failure(kill)
    assert failed.status == "out of memory" and "killed by the kernel" in failed.reason


def test_the_kernel_s_count_of_memory_kills_can_be_read_here():
    assert processes.oom_kills() >= 0
