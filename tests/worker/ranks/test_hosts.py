"""The program for several hosts: what it refuses, and two network namespaces as two networks."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cputrain import paths
from cputrain.experiment import Experiment
from cputrain.model import initial
from cputrain.record.process import Place
from cputrain.worker.ranks import hosts
from cputrain.worker.ranks.places import label

PARTS = {
    "model": {"n_layer": 2, "n_embd": 64},
    "training": {"seq_len": 64, "batch_size": 4},
    "system": {"processes": 2, "cores": 2},
    "budget": {"steps": 4, "samples": 1, "warm_up_steps": 2},
}


def written(tmp_path, parts):
    path = tmp_path / "experiment.json"
    path.write_text(parts if isinstance(parts, str) else json.dumps(parts))
    return path


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ("{", "experiment.json: Expecting"),
        ({"model": {"depth": 3}}, "no such field"),
        ({"training": {"batch_size": 8}}, "system.processes is needed"),
        ({"training": {"batch_size": 7}, "system": {"processes": 2}}, "does not divide"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path, parts, line):
    with pytest.raises(hosts.HostsError, match=line):
        hosts.read(written(tmp_path, parts))


def test_a_missing_file_and_a_missing_torchrun_are_one_line_each(tmp_path):
    with pytest.raises(hosts.HostsError, match="No such file"):
        hosts.read(tmp_path / "absent.json")
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(paths.PROJECT)}
    command = [
        sys.executable,
        "-m",
        "cputrain.worker.ranks.hosts",
        "--experiment",
        "x",
        "--out",
        "y",
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    (line,) = done.stderr.strip().split("\n")
    assert "not started by torchrun" in line


def test_what_is_set_before_the_interpreter_starts_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    parts = {"training": {"batch_size": 2}, "system": {"processes": 2, "wait_policy": "passive"}}
    with pytest.raises(hosts.HostsError, match="before the interpreter starts"):
        hosts.settle(hosts.read(written(tmp_path, parts)))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "5000")
    parts["system"] = {"processes": 2}
    with pytest.raises(hosts.HostsError, match="5000 processes need 5000 cores"):
        hosts.settle(hosts.read(written(tmp_path, parts)))


def place(host, boot, network):
    return Place(
        host=host, boot=boot, network_namespace=network, interface=None, cpus=[0], threads=1
    )


@pytest.mark.parametrize(
    ("places", "line"),
    [
        ([place("a", "1", "x")] * 2, "2 processes on 1 machine (a)"),
        (
            [place("a", "1", "x"), place("b", "1", "y")],
            "2 processes on 1 machine (b) in 2 network namespaces",
        ),
        ([place("a", "1", "x"), place("b", "2", "x")], "2 processes on 2 machines (a, b)"),
        (
            [place("a", "1", "x"), place("a", "1", "y"), place("b", "2", "x")],
            "3 processes on 2 machines (a, b) in 3 network namespaces",
        ),
    ],
)
def test_namespaces_of_one_machine_are_not_called_machines(places, line):
    assert label(places) == line


# Runs as root in namespaces of its own, which end with it, and what it started.
TWO_NETWORKS = """
set -e
mount -t tmpfs none /run
ip netns add one; ip netns add two
ip link add eth1 netns one type veth peer name eth2 netns two
for n in 1 2; do
    net=$([ $n = 1 ] && echo one || echo two)
    ip -n $net addr add 10.99.0.$n/24 dev eth$n
    ip -n $net link set eth$n up
    ip -n $net link set lo up
done
[ "$1" = try ] && exit 0
cpus=($2)
start() {
    GLOO_SOCKET_IFNAME=eth$2 taskset -c ${cpus[$(($2 - 1))]} ip netns exec $1 "$python" \\
        -m torch.distributed.run --nnodes=2 --node-rank=$(($2 - 1)) --nproc-per-node=1 \\
        --master-addr=10.99.0.1 --master-port=29500 --local-addr=10.99.0.$2 \\
        --log-dir=/dev/null \\
        -m cputrain.worker.ranks.hosts --experiment experiment.json --out report.json --offline
}
start one 1 & start two 2 || status=$?
wait $! && exit $status
"""


def in_namespaces(tmp_path, *words):
    script = tmp_path / "networks.sh"
    script.write_text(TWO_NETWORKS)
    flags = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    flags += [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return subprocess.run(
        ["unshare", *flags, "bash", str(script), *words],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(paths.PROJECT),
            "CPUTRAIN_ROOT": str(tmp_path),
            "python": sys.executable,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )


def why_no_networks(tmp_path):
    for tool in ("ip", "unshare", "taskset"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed: apt install iproute2 util-linux"
    tried = in_namespaces(tmp_path, "try")
    said = tried.stderr.strip().split("\n")[-1]
    return f"no network namespaces here: {said}" if tried.returncode else None


def test_two_network_namespaces_train_as_one_process_does(tmp_path):
    pytest.importorskip("torch")
    from cputrain import engines
    from cputrain.data import feed

    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    if (reason := why_no_networks(tmp_path)) is not None:
        pytest.skip(reason)
    parts = {**PARTS, "system": {"processes": 2}}
    written(tmp_path, parts)
    done = in_namespaces(tmp_path, "run", f"{cpus[0]} {cpus[1]}")
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["label"].startswith("2 processes on 1 machine (")
    assert report["label"].endswith(" in 2 network namespaces")
    assert [place["interface"] for place in report["places"]] == ["eth1", "eth2"]
    assert [place["cpus"] for place in report["places"]] == [[cpus[0]], [cpus[1]]]
    actual = {check["name"]: check["found"] for check in report["finished"]["in_force"]}
    assert actual["weights of all processes"] == "equal"
    experiment = Experiment.from_json(parts)
    alone = experiment.but(engine="numpy", processes=None, attention_backend="manual")
    reference = engines.build(alone, initial.initial_weights(alone))
    data = feed.open_feed(experiment, Path(tmp_path / "data"), offline=True)
    assert report["finished"]["so_far"]["first_loss"] == pytest.approx(
        reference.loss(data.first), rel=1e-4
    )
    for _ in range(report["finished"]["so_far"]["steps_done"]):
        reference.train_step(data.next())
    assert report["finished"]["last_loss"] == pytest.approx(reference.loss(data.first), rel=1e-3)
    (sample,) = report["samples"]
    exchange = sample["exchange"]
    assert exchange["sent_bytes_per_step"] == pytest.approx([exchange["ring_bytes"]] * 2, rel=0.02)
    assert len(sample["step_s"]) == 4
