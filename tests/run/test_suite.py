import importlib
import itertools
import os
import re
import subprocess
import sys

import pytest
from settled import settled

from cputrain import paths
from cputrain.commands import listing
from cputrain.errors import UsageError
from cputrain.experiment import ExperimentError
from cputrain.model import flops
from cputrain.run import suite
from cputrain.sweep import plan

ALL = plan.discover()


def find(name):
    return next(planned for planned in ALL if planned.name == name)


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
    assert Deep().experiment(32).budget.steps < settled().budget.steps


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


def test_quick_takes_ends_middle_and_baseline_of_each_engine():
    (chosen,) = plan.choose(ALL, [r"\.VocabSize"], quick=True)
    few = [cell.values for cell in chosen.cells if cell.engine == "torch"]
    assert few == [(257, "torch"), (8000, "torch"), (50000, "torch")]
    assert {cell.engine for cell in chosen.cells} >= {"torch", "jax"}
    assert {cell.engine for cell in chosen.baselines} == {cell.engine for cell in chosen.cells}


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


def test_asv_s_parameters_carry_the_field_s_names():
    names = {planned.name: planned.suite.param_names for planned in ALL}
    assert names["SeqLen"] == ["seq_len", "engine"] and names["Depth"] == ["n_layer", "engine"]
    assert names["CoreCount"] == ["cores", "engine"] and names["HeadDim"] == ["head_dim"]
    assert names["AttentionBackend"] == ["attention_backend", "engine"]
    assert names["Framework"] == ["engine"]


def test_every_suite_is_described_and_holds_the_baseline():
    assert {planned.name for planned in ALL} >= {
        "Baseline",
        "SeqLen",
        "BatchSize",
        "Depth",
        "Width",
        "CoreCount",
        "OmpThreads",
        "AttentionBackend",
        "TorchCompile",
        "Framework",
    }
    for planned in ALL:
        assert planned.description.endswith(".")
        if planned.name != "Preset":  # published runs are no settings of one variable
            missing = {cell.engine for cell in planned.cells if cell.baseline is None}
            assert not missing, planned.name


def test_heavy_values_take_fewer_steps_but_one_at_least():
    depth = suite_steps("Depth")
    assert depth[2] == depth[4] == 10
    assert 1 <= depth[32] < depth[8] < 10
    assert suite_steps("BatchSize")[64] == 1


def suite_steps(name):
    cells = [cell for cell in find(name).cells if cell.engine == "torch"]
    return {cell.values[0]: cell.experiment.budget.steps for cell in cells}


def test_asv_finds_the_classes_and_no_abstract_one():
    for planned in ALL:
        module = importlib.import_module(f"benchmarks.{planned.benchmark.split('.')[0]}")
        assert "Suite" not in vars(module)


def test_regexes_match_as_asv_s_do():
    (chosen,) = plan.choose(ALL, [r"SeqLen.*\((128|2048), 'torch'\)"], quick=False)
    assert [cell.values for cell in chosen.cells] == [(128, "torch"), (2048, "torch")]
    method = r"training\.SeqLen\.time_train_steps"
    assert chosen.pattern() == rf"^({method}\(128,\ 'torch'\)|{method}\(2048,\ 'torch'\))$"


def test_the_pattern_for_asv_names_what_is_declared_only():
    (chosen,) = plan.choose(ALL, ["SeqLen"], quick=False)
    kind = chosen.suite
    for cell in itertools.product(*kind.params):
        name = f"{chosen.benchmark}({', '.join(map(repr, cell))})"
        assert bool(re.match(chosen.pattern(), name)) == (cell in kind.cells())


def test_a_name_that_matches_nothing_is_answered_with_the_nearest():
    with pytest.raises(
        UsageError, match=r"no suite matches 'activation'; did you mean Activation\?"
    ):
        plan.choose(ALL, ["activation"], quick=False)
    with pytest.raises(UsageError, match="no suite matches 'Nonesuch'; there are Baseline, "):
        plan.choose(ALL, ["Nonesuch"], quick=False)


def test_quick_takes_ends_middle_and_baseline():
    (chosen,) = plan.choose(ALL, [r"\.BatchSize.*torch"], quick=True)
    assert [cell.values[0] for cell in chosen.cells] == [1, 8, 64]
    (chosen,) = plan.choose(ALL, [r"\.SeqLen.*torch"], quick=True)
    assert [cell.values[0] for cell in chosen.cells] == [128, 256, 512, 2048]


def test_cell_names_are_folders():
    assert paths.cell_name((1, "a/b c")) == "1-a_b_c"


SUITE = """from cputrain.model import flops
from cputrain.run import suite


class Heads(suite.Suite):
    'Heads.'

    name = {name!r}
    values = {values}
    {more}

    def vary(self, base, value):
        return base.but(n_head=value)


class Good(suite.Suite):
    'Good.'

    values = (1, 2)

    def vary(self, base, value):
        return base.but(n_layer=value)
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Have benchmarks/ hold this text in mine.py, and nothing else."""

    def write(**words):
        folder = tmp_path / "benchmarks"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "mine.py").write_text(SUITE.format(**{"name": "", "more": "", **words}))
        monkeypatch.setattr(paths, "BENCHMARKS", folder)
        for known in [n for n in sys.modules if n.split(".")[0] == "benchmarks"]:
            monkeypatch.delitem(sys.modules, known)
        monkeypatch.syspath_prepend(tmp_path)

    yield write
    for known in [n for n in sys.modules if n.split(".")[0] == "benchmarks"]:
        sys.modules.pop(known)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"name": "heads", "values": "(4, 3)"}, r"Heads\(3\): n_head = 3: n_embd = 256"),
        ({"values": "(4, 3)"}, r"Heads\(3\): n_head = 3: n_embd = 256"),
        ({"values": "(4,)", "more": "engines = {'jax': (8,)}"}, r"Heads.engines\['jax'\]: 8 is no"),
        (
            {"values": "(4,)", "more": "engines = {'tensor': (4,)}"},
            r"Heads\(4, 'tensor'\): engine =",
        ),
        ({"values": "(4, None)"}, r"Heads\(None\): n_head = None"),
        ({"values": "(4,)", "more": "def base(self): return nonsense"}, r"Heads: NameError"),
    ],
)
def test_a_suite_that_cannot_be_is_its_own_line_and_others_go_on(written, capsys, words, said):
    written(**words)
    (good,), (broken,) = plan.survey()
    assert good.name == "Good" and "\n" not in broken.line
    assert re.match(rf"benchmarks/mine.py: {said}", broken.line), broken.line
    with pytest.raises(UsageError, match=re.escape(broken.line)):
        plan.discover()

    assert listing.main(None) == 2
    out, err = capsys.readouterr()
    assert "  Good (n_layer): Good." in out and err == f"bench.py: {broken.line}\n"

    plan.refuse([broken], ["Good"])
    for regexes in (None, ["Heads"], ["mine"]):
        with pytest.raises(UsageError, match=re.escape(broken.line)):
            plan.refuse([broken], regexes)


@pytest.mark.parametrize(
    ("values", "said"), [("(4, 3", "SyntaxError"), ("nonsense", "NameError.*nonsense")]
)
def test_a_file_that_cannot_be_imported_is_a_line_and_stops_every_run(written, values, said):
    """asv imports every file."""
    written(values=values)
    suites, (broken,) = plan.survey()
    assert suites == [] and re.match(rf"benchmarks/mine.py: {said}", broken.line)
    with pytest.raises(UsageError, match=said):
        plan.refuse([broken], ["Good"])
