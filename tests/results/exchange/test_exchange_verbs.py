"""The verbs `pack` and `merge`: what they say, and their exit status."""

import json

import pytest
from made_packs import everything
from roots import take_root

from cputrain.commands import cli
from cputrain.record import files
from cputrain.record.cell import SCHEMA
from cputrain.results.exchange import packfile

pytestmark = pytest.mark.tools


@pytest.fixture
def run(monkeypatch, capsys, tmp_path_factory):
    """Runs a verb in a project's folder; its status and what it says."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))

    def verb(root, *words):
        with monkeypatch.context() as patch:
            take_root(patch, root)
            status = cli.main([*map(str, words)])
        said = capsys.readouterr()
        return status, said.out + said.err

    return verb


def test_what_is_packed_here_comes_in_there(sweep, run, tmp_path_factory):
    there = tmp_path_factory.mktemp("there")
    file = there / f"x{packfile.SUFFIX}"
    status, said = run(sweep.root, "pack", "--machine", "here", "--to", file)
    assert status == 0 and f"{file}: here, 18 records, 0.0" in said
    status, said = run(there, "merge", file)
    assert status == 0 and f"{file}: here: 18 records added, 2 other files" in said
    assert "18 cells of 1 machine: here" in said
    before = everything(there)
    status, said = run(there, "merge", file)
    assert status == 0 and "0 records added, 18 here already" in said
    assert everything(there) == before


def test_what_was_left_out_or_refused_is_said_and_is_status_1(sweep, run, tmp_path_factory):
    there = tmp_path_factory.mktemp("there")
    path = sweep.root / "output" / "here" / "SeqLen" / "128" / "run.json"
    path.write_text(path.read_text().replace(f'"schema": {SCHEMA}', '"schema": 99'))
    status, said = run(sweep.root, "pack", "--to", there / "x.gz")
    assert status == 1 and "left out: output/here/SeqLen/128/run.json: schema 99" in said
    status, said = run(there, "merge", there / "x.gz", there / "none.gz", sweep.root)
    assert status == 1 and f"{there / 'none.gz'}: refused: No such file or directory" in said
    assert f"{sweep.root}: not taken: output/here/SeqLen/128/run.json: schema 99" in said
    assert "17 cells of 1 machine" in said


def test_bad_usage_is_one_line(sweep, run, tmp_path_factory):
    status, said = run(sweep.root, "pack", "--machine", "her")
    assert (status, said) == (2, "bench.py: no records of 'her'; there are: here\n")
    status, said = run(tmp_path_factory.mktemp("empty"), "pack")
    assert status == 2 and len(said.splitlines()) == 1
    file = next(sweep.root.glob("result/asv/here/*.json")) / "x.gz"
    status, said = run(sweep.root, "pack", "--to", file)
    assert status in (1, 2) and len(said.splitlines()) == 1


def test_a_folder_gets_the_file_under_its_usual_name(sweep, run, tmp_path_factory):
    there = tmp_path_factory.mktemp("there")
    status, said = run(sweep.root, "pack", "--to", there)
    (file,) = there.iterdir()
    assert status == 0 and file.name == f"here{packfile.SUFFIX}" and f"{file}: here, 18" in said


def test_a_second_run_of_a_machine_is_taken_whole(sweep, run, tmp_path_factory):
    """Its peaks and asv's copy of its numbers too: nothing is left that would be said."""
    there = tmp_path_factory.mktemp("there")
    peaks = sweep.root / "result" / "here" / "machine.json"
    for date, rates in (("1", {"1": 2e11, "2": 1e11}), ("2", {"1": 1e11, "2": 4e11})):
        files.write(peaks, {"date": date, "torch": "2.13.0+cpu", "fp32_matmul_flops": rates})
        assert run(sweep.root, "pack", "--to", there / "x.gz")[0] == 0
        status, said = run(there, "merge", there / "x.gz")
        assert status == 0 and "not taken" not in said
    joined = json.loads((there / "result" / "here" / "machine.json").read_text())
    assert joined["fp32_matmul_flops"] == {"1": 2e11, "2": 4e11}
