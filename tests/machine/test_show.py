"""What the `machine` verb prints."""

import argparse

import pytest

from cputrain.errors import UsageError
from cputrain.machine import facts, peak, registry, show
from cputrain.machine.reading import MachineError


def test_every_fact_has_a_line_and_the_unknown_a_reason(server, tmp_path):
    lines = show.lines(server.root, tmp_path)
    assert lines[0].split() == ["machine", registry.machine_name(server.root)]
    assert {line.split()[0] for line in lines} > set(facts.KEYS)
    (speed,) = (line for line in lines if line.startswith("memory_speed"))
    assert "unknown (" in speed
    assert "not measured yet" in lines[-1]


def test_a_machine_that_says_nothing(tree, tmp_path):
    assert len(show.lines(tree.root, tmp_path)) == len(facts.KEYS) + 3


def test_measured_peaks(server, tmp_path):
    path = tmp_path / registry.machine_name(server.root) / "machine.json"
    peak.merge(path, {"date": "d", "fp32_matmul_flops": {"1": 1.14e11, "2": 2.2e11}})
    assert show.lines(server.root, tmp_path)[-1].startswith("peak_2_threads")
    assert "220.0 GFLOP/s" in show.lines(server.root, tmp_path)[-1]
    peak.merge(path, {"date": "d", "int8_matmul_flops": {"2": 9e11}})
    assert show.lines(server.root, tmp_path)[-1].endswith("900.0 GFLOP/s, int8 matrix product")
    path.write_text("{")
    with pytest.raises(MachineError):
        show.lines(server.root, tmp_path)


def test_the_verb(capsys):
    assert show.main(argparse.Namespace(name=None)) == 0
    assert "kernel" in capsys.readouterr().out


def test_a_machine_whose_results_were_copied_here(tmp_path):
    folder = tmp_path / "asv" / "laptop"
    folder.mkdir(parents=True)
    (folder / "machine.json").write_text('{"machine": "laptop", "cpu": "i5-1240P", "isa": null}')
    found = [line.split() for line in show.other_lines("laptop", tmp_path)]
    assert ["cpu", "i5-1240P"] in found and ["isa", "unknown"] in found
    with pytest.raises(UsageError, match=r"'desktop'.*there are: laptop"):
        show.other_lines("desktop", tmp_path)
    (folder / "machine.json").write_text("[")
    with pytest.raises(MachineError, match="damaged"):
        show.other_lines("laptop", tmp_path)
