"""What the `machine` verb prints."""

import argparse
import json
import math
import re

import pytest

from cputrain.commands import machine
from cputrain.errors import UsageError
from cputrain.machine import allotted, facts, identity, measurements
from cputrain.machine.reading import MachineError


def test_every_fact_has_a_line_and_the_unknown_a_reason(server, tmp_path):
    lines = machine.lines(server.root, tmp_path)
    assert lines[0].split() == ["machine", identity.machine_name(server.root)]
    assert lines[1].split(maxsplit=1) == ["allowed", allotted.line(server.root)]
    assert {line.split()[0] for line in lines} > set(facts.KEYS)
    (speed,) = (line for line in lines if line.startswith("memory_speed"))
    assert "unknown (" in speed
    assert "nothing yet: run measures it" in lines[-1]


def test_a_machine_that_says_nothing(tree, tmp_path):
    assert len(machine.lines(tree.root, tmp_path)) == len(facts.KEYS) + 4


MEASURED = {
    "date": "2026-11-21T10:00:00+00:00",
    "fp32_matmul_flops": {"1": 1.14e11, "2": 2.2e11},
    "bandwidth_bytes_per_s": {"2": 3.53e10},
    "bandwidth_array_bytes": {"2": 128 << 20},
    "reasons": {"bandwidth:1": "too little memory"},
    "clock_ghz": None,
    "clock_ghz_reason": "no code can be mapped",
    "pinned": False,
    "flags": "fpu sse4_2 avx2",
    "libraries": {
        "torch": {"version": "2.13.0", "build": "PyTorch built with:\n  - GCC 13.3\n  - AVX2\n"},
        "jax": {"version": None, "version_reason": "not installed"},
    },
}


def test_what_was_measured(server, tmp_path):
    path = tmp_path / identity.machine_name(server.root) / "machine.json"
    measurements.merge(path, MEASURED)
    lines = {line.split()[0]: line for line in machine.lines(server.root, tmp_path)}
    assert "2026-11-21" in lines["measured"]
    assert lines["peak_2_threads"].endswith("220.0 GFLOP/s, fp32 matrix product")
    assert lines["bandwidth_2_threads"].endswith("35.3 GB/s, triad, 3 arrays of 128 MiB")
    assert lines["bandwidth_1_threads"].endswith("unknown (too little memory)")
    assert lines["clock_then"].endswith("unknown (no code can be mapped)")
    assert lines["pinned"].split()[1] == "no:"
    assert lines["flags"].endswith("fpu sse4_2 avx2")
    assert lines["torch"].endswith("2.13.0") and "not installed" in lines["jax"]
    assert lines["torch_build"].endswith("AVX2")
    assert "GHz" in lines["clock_now"] or "unknown (" in lines["clock_now"]
    measurements.merge(path, {"date": "d", "int8_matmul_flops": {"4": 9e11}})
    lines = {line.split()[0]: line for line in machine.lines(server.root, tmp_path)}
    assert lines["peak_4_threads"].endswith("900.0 GOP/s, int8 matrix product")
    path.write_text("{")
    with pytest.raises(MachineError):
        machine.lines(server.root, tmp_path)


def test_a_file_of_an_earlier_version(server, tmp_path):
    path = tmp_path / identity.machine_name(server.root) / "machine.json"
    path.parent.mkdir()
    path.write_text('{"date": "d", "torch": "2.13.0", "fp32_matmul_flops": {"1": 1e11}}')
    assert machine.lines(server.root, tmp_path)[-1].endswith("100.0 GFLOP/s, fp32 matrix product")


def test_the_verb(capsys):
    assert machine.main(argparse.Namespace(name=None)) == 0
    assert "kernel" in capsys.readouterr().out


def test_a_machine_whose_results_were_copied_here(tmp_path):
    folder = tmp_path / "asv" / "laptop"
    folder.mkdir(parents=True)
    (folder / "machine.json").write_text('{"machine": "laptop", "cpu": "i5-1240P", "isa": null}')
    words = [line.split() for line in machine.other_lines("laptop", tmp_path)]
    assert ["cpu", "i5-1240P"] in words and ["isa", "unknown"] in words
    why = {"unknown_facts": {"isa": "no flags"}}
    measurements.merge(tmp_path / "laptop" / "machine.json", MEASURED | why)
    lines = machine.other_lines("laptop", tmp_path)
    assert any(line.startswith("bandwidth_2_threads") for line in lines)
    assert any(line.split(maxsplit=1) == ["isa", "unknown (no flags)"] for line in lines)
    with pytest.raises(UsageError, match=r"'desktop'.*there are: laptop"):
        machine.other_lines("desktop", tmp_path)
    with pytest.raises(UsageError, match="the example's: python3 bench"):
        machine.other_lines("amd-epyc-2c-9041", tmp_path)
    (folder / "machine.json").write_text("[")
    with pytest.raises(MachineError, match="damaged"):
        machine.other_lines("laptop", tmp_path)


def test_another_machine_s_facts_are_shown_and_not_obeyed(tmp_path):
    folder = tmp_path / "asv" / "laptop"
    folder.mkdir(parents=True)
    facts_there = {"cpu": "\x1b]0;title\x07\x1b[2J", "os": "Linux\nmachine  other", "\x1b[2J": "x"}
    (folder / "machine.json").write_text(json.dumps(facts_there))
    bad = {"fp32_matmul_flops": {"1": math.nan, "2": math.inf}, "clock_ghz": math.nan}
    path = tmp_path / "laptop" / "machine.json"
    path.parent.mkdir()
    path.write_text(json.dumps(MEASURED | bad))
    lines = machine.other_lines("laptop", tmp_path)
    assert not any(re.search("[\x00-\x1f\x7f]", line) for line in lines)
    assert not any(re.search(r"\b(nan|inf)\b", line) for line in lines)
    assert sum("unknown GFLOP/s" in line for line in lines) == 2
