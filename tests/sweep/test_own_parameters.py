"""Suites that somebody adds: one of two variables and two engines, one that cannot be."""

import json

import pytest

pytestmark = pytest.mark.tools

polars = pytest.importorskip("polars")

SUITE = '''
"""Mine."""

from cputrain.run import suite


class Shape(suite.Suite):
    """Depth by width."""

    values = ((1, 2), (32, 64))
    engines = {"native": ((1,), (32, 64))}
    name = ("n_layer", "n_embd")

    def vary(self, base, n_layer, n_embd):
        few = {"n_head": 1, "seq_len": 32, "steps": 2, "tries": 1, "warm_up_steps": 2}
        return base.but(n_layer=n_layer, n_embd=n_embd, **few)


class Threads(suite.Suite):
    """A setting that JAX has not."""

    values = (1, 2)
    engines = {"jax": values}

    def vary(self, base, value):
        return base.but(inter_op_threads=value)
'''
LINE = "benchmarks/mine.py: Threads(1, 'jax'): inter_op_threads = 1: engine = 'jax' has"


def test_two_variables_and_the_engine_are_three_parameters_from_asv_to_the_table(trial):
    (trial.suites / "mine.py").write_text(SUITE)
    status, out = trial.run("--bench", r"Shape.*\(1, 32")
    assert status == 0, out
    assert "Shape (n_layer, n_embd, engine)" in out
    assert f"left out: {LINE}" in out

    result = trial.folder / "result"
    known = json.loads((result / "asv" / "benchmarks.json").read_text())
    mine = known["mine.Shape.time_train_steps"]
    assert mine["param_names"] == ["n_layer", "n_embd", "engine"]
    assert mine["params"] == [["1", "2"], ["32", "64"], ["'torch'", "'native'"]]
    assert (mine["unit"], mine["number"]) == ("seconds", 1)

    assert sorted(path.name for path in (trial.output / "Shape").iterdir()) == [
        "1-32-native",
        "1-32-torch",
    ]
    for engine in ("torch", "native"):
        (worker,) = trial.record(f"Shape/1-32-{engine}")["workers"]
        assert worker["status"] == "ok" and worker["experiment"]["runtime"]["engine"] == engine
    rows = polars.read_parquet(result / "results.parquet").filter(polars.col("suite") == "Shape")
    measured = {row["value"]: row for row in rows.iter_rows(named=True) if row["status"] == "ok"}
    values = {
        name: (row["n_layer"], row["n_embd"], row["engine"]) for name, row in measured.items()
    }
    assert values == {"1-32-torch": (1, 32, "torch"), "1-32-native": (1, 32, "native")}


def test_a_run_that_would_take_a_suite_that_cannot_be_says_why_and_starts_nothing(trial):
    (trial.suites / "mine.py").write_text(SUITE)
    for words in ((), ("--bench", "Threads|First")):
        status, out = trial.run(*words)
        assert status == 2 and out.startswith(f"bench.py: {LINE}"), out
        assert len(out.splitlines()) == 1
    assert not (trial.folder / "output").exists()
