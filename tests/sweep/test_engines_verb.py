"""The verb `engines`: the real program, its workers, its table."""

import re
import signal

import pytest

from cputrain.analysis.side_by_side.ratios import DISTURBED
from cputrain.results import engines

pytestmark = pytest.mark.tools

SUITES = '''
"""Two shapes; all of it on NumPy, whose workers start quickly."""

from cputrain.run import suite


class Framework(suite.Suite):
    """What trains."""

    values = ("torch", "numpy", "broken", "huge")
    name = "engine"

    @classmethod
    def base(cls):
        small = {"n_layer": 1, "n_embd": 64, "seq_len": 32, "attention_backend": "manual"}
        few = {"warm_up_steps": 2, "samples": 1, "tries": 1}
        return super().base().but(engine="numpy", **small, **few)

    def vary(self, base, value):
        if value == "huge":
            return base.but(batch_size=2**20)
        return base.but(learning_rate=0.0) if value == "broken" else base


class FrameworkLarger(Framework):
    """What trains, with more tokens."""

    @classmethod
    def base(cls):
        return super().base().but(seq_len=64)
'''


@pytest.fixture
def side_by_side(trial):
    """A trial with suites of engines."""
    (trial.suites / "framework.py").write_text(SUITES)
    return trial


def blocks(rows):
    return sorted({(row["suite"], row["compute_threads"]) for row in rows})


def test_every_engine_has_its_rows_and_the_failed_one_costs_no_other(side_by_side):
    process = side_by_side.start("engines", "--offline", "--rounds", "2", "--seed", "4")
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 1, out
    (path,) = side_by_side.folder.glob("result/*/engines.csv")
    rows = engines.read_file(path)
    assert len(rows) == 4 * len(blocks(rows)), out
    places = []
    for row in rows:
        if row["value"] == "broken":
            assert row["status"] == "failed" and "DidNotTrain" in row["reason"]
        elif row["value"] == "huge":
            assert row["status"] == "skipped" and "GiB of memory" in row["reason"]
        else:
            assert (row["status"], row["workers"], row["seed"]) == ("ok", 2, 4)
            if DISTURBED in (row["reason"] or ""):  # by tests that run beside this one
                assert row["over_torch"] is None
            else:
                assert row["over_torch_low"] <= row["over_torch"] <= row["over_torch_high"]
                assert (row["verdict"] is None) == (row["value"] == "torch")
            assert row["last_loss"] < row["first_loss"] and row["import_s"] > 0
            assert row["mfu"] is None or 0 < row["mfu"] < 1
            places += map(int, row["order"].split())
    assert len(set(places)) == len(places) == 4 * len(blocks(rows))
    assert len({row["session"] for row in rows if row["session"]}) == 1
    lines = re.findall(r"^ *\d+/\d+ .* (?:torch|numpy) .*$", out, re.MULTILINE)
    assert len(lines) == len(places), out
    assert all(re.search(r"ms a step +([\d.]+x|-)", line) for line in lines), out
    assert out.count("broken: failed: DidNotTrain") == len(re.findall("^broken:", out, re.M)) > 0
    again = side_by_side.start("export")
    told, _ = again.communicate(timeout=120)
    assert again.returncode == 0 and "problem" not in told
    (path,) = side_by_side.folder.glob("result/*/engines.md")
    section = path.read_text()
    assert len(re.findall(r"^\| \d+ \| ", section, re.MULTILINE)) == len(rows)


def test_ctrl_c_keeps_what_is_done_and_says_so(side_by_side):
    process = side_by_side.start("engines", "--offline", "--rounds", "50", "--seed", "4")
    side_by_side.wait_for("output/*/engines/*/run.json", process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGINT
    done = re.search(r"stopped; the records of (\d+) of \d+ workers are kept in (\S+),", out)
    assert done and "Traceback" not in out
    assert list(side_by_side.folder.glob("output/*/engines/*/run.json"))
    assert not list(side_by_side.folder.glob("result/*/engines.csv"))
    assert side_by_side.processes() == []


def test_without_the_suites_it_is_one_line(trial):
    process = trial.start("engines")
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert out.strip().splitlines()[-1].startswith("bench.py: there is no suite Framework")
