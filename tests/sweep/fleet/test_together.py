"""One training over the nodes of a real Slurm; a stand-in takes the place of torchrun."""

import re
import subprocess
import sys

import pytest

from cputrain import environ, paths
from cputrain.errors import UsageError
from cputrain.sweep.fleet import rank, together

pytestmark = pytest.mark.tools

STAND_IN = """#!/bin/bash
echo "$@" > "$PWD/told.$SLURM_PROCID"
echo "$GLOO_SOCKET_IFNAME" > "$PWD/interface.$SLURM_PROCID"
echo "rank $SLURM_PROCID is here"
"""
TRAIN = """
import sys
from pathlib import Path
from cputrain.errors import RunError
from cputrain.sweep.fleet import together
from cputrain.sweep.fleet.cluster import Cluster
from cputrain.sweep.fleet.rank import Rank
here = Path.cwd()
each = together.processes(here / "four.json", 2)
part = Rank(here / "python", here, here / "four.json", here / "report.json", each, offline=True)
try:
    sys.exit(together.train(part, Cluster(together.folder(), None, 5), 2, print))
except RunError as error:
    sys.exit(f"RunError {error}")
"""
FOUR = '{"training": {"batch_size": 8}, "system": {"processes": 4}}'


def test_each_node_gets_its_part_of_one_training(cluster, tmp_path):
    (tmp_path / "python").write_text(STAND_IN)
    (tmp_path / "python").chmod(0o755)
    (tmp_path / "four.json").write_text(FOUR)
    done = subprocess.run(
        [sys.executable, "-c", TRAIN],
        cwd=tmp_path,
        env={**cluster.env, environ.ROOT: str(tmp_path), "PYTHONPATH": str(paths.PROJECT)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 1 and "rank 0 left no report" in done.stderr, done.stderr
    assert "task 1 ended on n1, status 0: rank 0 is here" in done.stdout, done.stdout
    assert "task 2 ended on n2, status 0: rank 1 is here" in done.stdout
    told = [(tmp_path / f"told.{number}").read_text() for number in range(2)]
    for number, words in enumerate(told):
        assert f"--node-rank={number} " in words
        assert "--nnodes=2 " in words and "--nproc-per-node=2 " in words
        assert "--local-addr=127.0.0.1 -m cputrain.worker.ranks.hosts" in words
        assert words.rstrip().endswith("--offline")
        assert (tmp_path / f"interface.{number}").read_text() == "lo\n"
    assert len({re.search(r"--master-addr=\S+ --master-port=\d+", w)[0] for w in told}) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "system.processes is None"),
        (FOUR, "is 4, which 3 nodes cannot share out"),
        ("{", "file.json: "),
        ('{"system": {"processes": "x"}}', "processes"),
    ],
)
def test_what_cannot_be_shared_out_is_one_line(tmp_path, text, said):
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        together.processes(tmp_path / "file.json", 3)
    assert "\n" not in str(caught.value)


def test_the_interface_of_an_address_is_found():
    assert rank.interface("127.0.0.1") == "lo"
