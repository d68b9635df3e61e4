"""NUMA policies in real processes, by the real numactl."""

import json
import shutil
import subprocess
import sys

import msgspec
import pytest
from settled import NO_MODEL, settled

from cputrain.engines import settings
from cputrain.experiment.system import NUMA_POLICIES
from cputrain.knobs import numa
from cputrain.knobs.inforce import Check, NotInForce, require
from cputrain.machine import reading
from cputrain.machine.topology import memory_nodes
from cputrain.run import launch, placement


def needs_numactl():
    if shutil.which("numactl") is None:
        pytest.skip("numactl is not installed")
    if (said := numa.trial(("--localalloc",))) is not None:
        pytest.skip(said)


def test_the_real_numactl_refuses_a_node_that_is_not_there():
    needs_numactl()
    assert "--membind=900" in numa.trial(("--membind=900",))
    assert numa.trial(("--localalloc",)) is None


TELL = """
import json, os, sys
sys.stdin.readline()
sys.path.insert(0, os.environ["PYTHONPATH"])
from cputrain.knobs import numa
kept = bytearray(40 << 20)
mask = tuple(sorted(os.sched_getaffinity(0)))
said = [c.to_json() for c in numa.in_force(sys.argv[1], mask)]
os.write(int(sys.argv[2]), json.dumps({"checks": said, "cpus": mask}).encode() + b"\\n")
input()
"""


def told(policy, applied):
    """The checks of `policy` in a real process that was started under `applied`."""
    command = (sys.executable, "-c", TELL, policy)
    worker = launch.Worker(settled(numa_policy=applied), NO_MODEL, command=command)
    try:
        answer = json.loads(worker.line())
    finally:
        worker.end()
    assert tuple(answer["cpus"]) == worker.placement.cpus
    return [msgspec.convert(check, Check) for check in answer["checks"]]


@pytest.mark.parametrize("policy", NUMA_POLICIES)
def test_a_real_process_is_under_its_policy_and_under_no_other(policy):
    needs_numactl()
    try:
        memory_nodes()
    except reading.Unknown as unknown:
        pytest.skip(str(unknown))
    checks = told(policy, policy)
    assert checks
    require(checks)
    other = "interleave" if policy != "interleave" else "default"
    with pytest.raises(NotInForce):
        require(told(policy, other))


def test_numactl_comes_before_the_interpreter():
    needs_numactl()
    experiment = settled(numa_policy="interleave")
    nodes = ",".join(map(str, memory_nodes()))
    words = settings.command(experiment, placement.place(experiment))
    assert words == (shutil.which("numactl"), f"--interleave={nodes}")


def test_what_is_started_under_numactl_is_skipped_with_the_reason():
    needs_numactl()
    tell = (
        "from cputrain.engines import settings; from cputrain.experiment import Experiment;"
        "print(settings.why_not(Experiment()))"
    )
    for words, said in (((), "None"), (("numactl", "--interleave=0"), "started under numactl (")):
        command = [*words, sys.executable, "-c", tell]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert run.stdout.startswith(said)
