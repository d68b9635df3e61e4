"""How a suite is declared, and what experiments its values are."""

import itertools
import os
import subprocess
import sys

import pytest
from settled import settled

from cputrain import paths
from cputrain.experiment import ExperimentError
from cputrain.model import flops
from cputrain.run import suite


def test_a_variable_is_one_class_of_a_few_lines():
    class MlpRatio(suite.Suite):
        """Hidden width of the MLP."""

        values = (2, 3, 4)

        def vary(self, base, value):
            return base.but(mlp_ratio=value)

    assert MlpRatio.params == [[2, 3, 4]] and MlpRatio.param_names == ["mlp_ratio"]
    assert MlpRatio().experiment(4) == settled()


def test_to_declare_a_suite_counts_no_flops(monkeypatch):
    """asv imports a file of suites for every cell."""
    varied = []
    with monkeypatch.context() as without:
        without.setattr(flops, "flops_per_step", None)

        class Deep(suite.Suite):
            """Deep."""

            values = (8, 16, 32)

            def vary(self, base, value):
                varied.append(value)
                return base.but(n_layer=value)

    assert Deep.param_names == ["n_layer"] and set(varied) == {8, 16, 32}
    assert Deep().experiment(32).model.n_layer == 32


def test_two_variables_are_two_tuples():
    class Both(suite.Suite):
        """Two."""

        values = ((1, 2), ("sdpa", "manual"))
        name = ("batch_size", "attention_backend")

        def vary(self, base, batch, attention):
            return base.but(batch_size=batch, attention_backend=attention)

    assert Both.param_names == ["batch_size", "attention_backend"]
    assert Both().cells() == list(itertools.product((1, 2), ("sdpa", "manual")))


class Engines(suite.Suite):
    """Layers on three engines."""

    values = (2, 4, 8)
    engines = {"jax": (2, 4), "native": (8, 4)}

    def vary(self, base, value):
        return base.but(n_layer=value)


DECLARED = [
    *((2, "torch"), (2, "jax"), (4, "torch"), (4, "jax"), (4, "native")),
    *((8, "torch"), (8, "native")),
]


def test_the_engine_is_the_last_parameter_of_a_suite_that_names_several():
    assert Engines.params == [[2, 4, 8], ["torch", "jax", "native"]]
    assert Engines.param_names == ["n_layer", "engine"]
    assert Engines.cells() == DECLARED
    made = {cell: Engines().experiment(*cell) for cell in DECLARED}
    for (value, engine), experiment in made.items():
        assert (experiment.model.n_layer, experiment.runtime.engine) == (value, engine)
    settings = {e: made[4, e].runtime for e in ("torch", "jax", "native")}
    assert [s.compile for s in settings.values()] == ["eager", "xla", "eager"]
    assert [s.attention_backend for s in settings.values()] == ["sdpa", "sdpa", "manual"]


def test_the_baseline_is_that_of_the_same_engine_and_so_is_where_fine_tuning_starts():
    for cell in DECLARED:
        assert Engines.baseline(*cell) == (4, cell[1])
        assert Engines.cells_like(*cell)[0] == next(c for c in DECLARED if c[1] == cell[1])


def test_asv_passes_by_what_is_not_declared_without_building_anything():
    """In asv's own process, by asv's own benchmark object."""
    code = (
        "import sys\n"
        "from asv_runner.discovery import get_benchmark_from_name\n"
        "b = get_benchmark_from_name(sys.argv[1], 'training.SeqLen.time_train_steps-8')\n"
        "print(b._current_params, b.do_setup(), hasattr(b.func.__self__, '_cell'))\n"
        "print({'torch', 'jax'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(paths.PROJECT / "benchmarks")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(paths.PROJECT)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["(512, 'native') True False", "set()"]


def test_a_value_for_an_engine_is_one_of_the_suite_s():
    class Stray(suite.Suite):
        """Stray."""

        values = (2, 4)
        engines = {"jax": (2, 3)}

        def vary(self, base, value):
            return base.but(n_layer=value)

    with pytest.raises(ExperimentError, match=r"Stray.engines\['jax'\]: 3 is no value"):
        Stray.cells()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            {"values": ("256 tokens", "256_tokens")},
            "values '256 tokens' and '256_tokens' have one name in the tables, 256_tokens:"
            " rename one",
        ),
        (
            {"values": ("≤64", "≥64"), "engines": {"jax": ("≤64",)}},
            "values '≤64' and '≥64' have one name in the tables, _64-torch: rename one",
        ),
        (
            {"values": (("a", "a-b"), ("b-c", "c"))},
            "values ('a', 'b-c') and ('a-b', 'c') have one name in the tables, a-b-c: rename one",
        ),
        *(
            (
                {"values": (value,)},
                f"value {value!r} has the name {value!r}, which no folder can have: rename it",
            )
            for value in ("", ".", "..")
        ),
    ],
)
def test_each_cell_has_a_name_of_its_own_that_a_folder_can_have(words, line):
    named = type("Named", (suite.Suite,), {"name": "length", "vary": lambda *_: None, **words})
    with pytest.raises(ExperimentError) as refused:
        named().setup(*(values[0] for values in named.params))  # as asv calls it
    assert str(refused.value) == f"Named: {line}"


def test_a_value_with_an_engine_s_name_behind_it_may_be_a_point():
    kind = {"values": ("", ".5"), "engines": {"jax": ("",)}, "vary": lambda *_: None}
    named = type("Named", (suite.Suite,), kind)
    assert [paths.cell_name(cell) for cell in named.cells()] == ["-torch", "-jax", ".5-torch"]


HEADS = """
from cputrain.run import suite

class Heads(suite.Suite):
    'Heads.'
    values = (4,)
    def vary(self, base, value):
        return base.but(n_head=value)
"""
SERVED = """
import sys
from asv_runner.discovery import disc_benchmarks, get_benchmark_from_name
print(sorted(b.name for b in disc_benchmarks(sys.argv[1])))  # as its server, before it forks
get_benchmark_from_name(sys.argv[1], "mine.Heads.time_train_steps-0").do_setup()
"""


def test_asv_called_by_hand_measures_no_suite_whose_name_another_file_has(tmp_path):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for file in ("__init__.py", "mine.py", "model.py"):
        (folder / file).write_text("" if file == "__init__.py" else HEADS)
    done = subprocess.run(
        [sys.executable, "-c", SERVED, str(folder)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(paths.PROJECT), "CPUTRAIN_ROOT": str(tmp_path)},
    )
    assert "'mine.Heads.time_train_steps', 'model.Heads.time_train_steps'" in done.stdout
    line = "Heads: benchmarks/model.py has a suite of this name too, and records of both would mix"
    assert done.stderr.endswith(f"ExperimentError: {line}: rename one\n"), done.stderr
    assert not (tmp_path / "output").exists()


def test_a_cell_s_reference_is_its_baseline_on_the_same_engine():
    for cell in DECLARED:
        reference = Engines().reference(*cell)
        assert reference == Engines().experiment(4, cell[1])


def test_cell_names_are_folders():
    assert paths.cell_name((1, "a/b c")) == "1-a_b_c"
