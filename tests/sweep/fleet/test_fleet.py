"""A fleet on a real Slurm of two nodes, and on one machine without it."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from cputrain import environ
from cputrain.commands import cli
from cputrain.results import stored

pytestmark = pytest.mark.tools

NODE = "${SLURMD_NODENAME:-alone}"
MEASURE = (
    f"cp -r ../../../../prepared/{NODE}/. . && echo record >> output/{NODE}/record"
    f" && env > output/{NODE}/env && echo ready"
)
"""A stand-in for bench.py: it leaves a machine of the node's name, with a record."""


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def pids(words, is_whole=True):
    """The processes that a command runs in; with `is_whole` False it may have other words, too."""
    wanted = words.replace(" ", "\0").encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if line.strip(b"\0") == wanted if is_whole else wanted in line:
            found.append(int(path.parent.name))
    return found


def nodes_of(tmp_path):
    return sorted(path.name for path in (tmp_path / ".asv" / "fleet" / "nodes").glob("*[!k]"))


def clone(tmp_path, node):
    return tmp_path / ".asv" / "fleet" / "nodes" / node


def is_taken_over(tmp_path, node):
    """Whether the machine of a node has its record here."""
    records = stored.gather(tmp_path, node).records
    return list(records) == ["SeqLen/256/run.json"]


def test_each_node_measures_in_a_clone_of_its_own_and_all_of_it_comes_here(
    fleet, cluster, tmp_path
):
    status, said = fleet(f"{MEASURE}; sleep 3", cluster.env).end()
    assert status == 0, said
    assert {"task 1 runs on n", "2 nodes measured of 2"} <= {
        re.sub(r"(runs on n).*", r"\1", line) for line in said.splitlines()
    }
    assert nodes_of(tmp_path) == ["n1", "n2"]
    for node in nodes_of(tmp_path):
        assert (clone(tmp_path, node) / "output" / node / "record").read_text() == "record\n"
        assert (clone(tmp_path, node) / ".git").is_dir()
        assert is_taken_over(tmp_path, node)


@pytest.mark.parametrize("how", ["scontrol requeue", "scancel --signal=USR2"])
def test_a_task_that_is_put_back_into_the_queue_goes_on_in_the_same_clone(
    how, fleet, cluster, tmp_path
):
    """Also by itself, at the signal that Slurm sends before the time limit."""
    told = f"trap 'echo told to stop; exit 143' TERM; {MEASURE}"
    script = f"{told}; test $(cat output/{NODE}/record | wc -l) = 2 || {{ sleep 100 & wait; }}"
    running = fleet(script, cluster.env, nodes=1, partition="first")
    running.wait_for("task 1 runs on n1")
    record = clone(tmp_path, "n1") / "output" / "n1" / "record"
    cluster.wait(record.exists)
    (job,) = [m[1] for line in running.said if (m := re.search(r"Slurm's job (\d+)", line))]
    cluster.run(*how.split(), job)
    running.wait_for("task 1 is in the queue again: n1 died or was taken from it")
    # Slurm itself waits two minutes. Within the second of its end a node takes a task for the one
    # that was ended: "already killed, do not launch".
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now+2")
    status, said = running.end()
    assert status == 0 and "1 node measured of 1" in said, said
    assert record.read_text() == "record\n" * 2 and is_taken_over(tmp_path, "n1")
    log = record.parents[2] / ".git" / "fleet.log"
    assert log.read_text().splitlines()[:2] == ["ready", "told to stop"]


def test_a_node_that_dies_is_said_and_does_not_stop_the_others(fleet, cluster, tmp_path):
    running = fleet(f"{MEASURE}; test {NODE} = n1 || sleep 100", cluster.env, back_s=3)
    running.wait_for("runs on n2")
    record = clone(tmp_path, "n2") / "output" / "n2" / "record"
    cluster.wait(record.exists)
    cluster.kill("n2")
    status, said = running.end()
    assert status == 1 and "1 node measured of 2" in said, said
    assert re.search(r"task \d is in the queue again: n2 died or was taken from it", said)
    assert re.search(r"task \d: no node took it again in 3 s", said)
    assert is_taken_over(tmp_path, "n1")
    assert is_taken_over(tmp_path, "n2")  # what it had left
    cluster.start("n2")


def test_a_sweep_that_fails_is_said_and_what_it_left_comes_here(fleet, cluster, tmp_path):
    status, said = fleet(f"{MEASURE}; exit 1", cluster.env, nodes=1, partition="first").end()
    assert status == 1 and "task 1 ended on n1, status 1: ready" in said, said
    assert "0 nodes measured of 1" in said
    assert is_taken_over(tmp_path, "n1")


def test_ctrl_c_cancels_the_tasks(fleet, cluster, tmp_path):
    running = fleet(f"{MEASURE}; sleep 100", cluster.env, nodes=1, partition="first")
    until(lambda: (tmp_path / ".asv/fleet/nodes/n1/output/n1/env").exists())
    running.process.send_signal(signal.SIGINT)
    status, said = running.end()
    assert status == 130 and "stopped; what the nodes have measured stays" in said, said
    cluster.wait(lambda: not cluster.run("squeue", "--noheader", "--partition=first"))


def test_without_slurm_one_sweep_runs_here_and_a_line_says_so(fleet, alone, tmp_path):
    status, said = fleet(MEASURE.replace(NODE, "alone"), alone, nodes=1).end()
    assert status == 0, said
    (folder,) = (tmp_path / ".asv" / "fleet" / "nodes").glob("*[!k]")
    variables = (folder / "output" / "alone" / "env").read_text()
    assert environ.ROOT not in variables and re.search(r"(?m)^HOME=.*/\.git/home$", variables)
    assert "no Slurm here (no sbatch): one sweep, on this machine" in said
    assert "alone: 1 record added" in said and "1 node measured of 1" in said
    assert is_taken_over(tmp_path, "alone")


def test_without_slurm_one_node_is_fewer_than_were_asked_for(fleet, alone, tmp_path):
    status, said = fleet(MEASURE.replace(NODE, "alone"), alone, nodes=2).end()
    assert status == 1 and "1 node measured of 2" in said, said
    assert is_taken_over(tmp_path, "alone")


def test_without_slurm_what_a_killed_task_has_left_comes_here(fleet, alone, tmp_path):
    running = fleet(f"{MEASURE.replace(NODE, 'alone')}; sleep 76.54", alone, nodes=1)
    running.wait_for("task 1 runs on")
    until(lambda: list((tmp_path / ".asv/fleet/nodes").glob("*/output/alone/env")))
    for pid in pids(f"submitit.core._submit {tmp_path}", is_whole=False):
        os.kill(pid, signal.SIGKILL)
    status, said = running.end()
    assert status == 1 and "0 nodes measured of 1" in said, said
    assert is_taken_over(tmp_path, "alone")
    until(lambda: not pids("sleep 76.54"))


def test_ctrl_c_ends_what_runs_and_keeps_what_is_there(fleet, alone, tmp_path):
    running = fleet(f"{MEASURE.replace(NODE, 'alone')}; sleep 87.65", alone)
    record = tmp_path / ".asv" / "fleet" / "nodes"
    until(lambda: list(record.glob("*/output/alone/env")))
    running.process.send_signal(signal.SIGINT)
    status, said = running.end()
    assert status == 130 and "stopped; what the nodes have measured stays" in said, said
    until(lambda: not pids("sleep 87.65"))
    until(lambda: not pids(f"submitit.local._local {tmp_path}", is_whole=False))
    time.sleep(0.2)  # what it said last is read by a thread
    assert "Traceback" not in "\n".join(running.said), running.said


def test_the_verb_needs_a_number_of_nodes(capsys):
    assert cli.parse(["fleet", "--nodes", "3", "--quick", "--bench", "SeqLen"]).nodes == 3
    with pytest.raises(SystemExit):
        cli.parse(["fleet"])
    assert "--nodes" in capsys.readouterr().err
