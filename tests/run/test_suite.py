import importlib
import itertools
import sys

import pytest

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.experiment import Experiment
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
    assert MlpRatio().experiment(4) == Experiment()


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
    assert Deep().experiment(32).budget.steps < Experiment().budget.steps


def test_two_variables_are_two_tuples():
    class Both(suite.Suite):
        """Two."""

        values = ((1, 2), ("sdpa", "manual"))
        name = ("batch_size", "attention_backend")

        def vary(self, base, batch, attention):
            return base.but(batch_size=batch, attention_backend=attention)

    assert Both.param_names == ["batch_size", "attention_backend"]
    assert Both().cells() == list(itertools.product((1, 2), ("sdpa", "manual")))


def test_asv_s_parameters_carry_the_field_s_names():
    names = {planned.name: planned.suite.param_names for planned in ALL}
    assert names["SeqLen"] == ["seq_len"] and names["Depth"] == ["n_layer"]
    assert names["CoreCount"] == ["cores"] and names["OmpThreads"] == ["threads"]
    assert names["AttentionBackend"] == ["attention_backend"]


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
            assert planned.baseline is not None, planned.name


def test_heavy_values_take_fewer_steps_but_one_at_least():
    depth = suite_steps("Depth")
    assert depth[2] == depth[4] == 10
    assert 1 <= depth[32] < depth[8] < 10
    assert suite_steps("BatchSize")[64] == 1


def suite_steps(name):
    return {cell.values[0]: cell.experiment.budget.steps for cell in find(name).cells}


def test_asv_finds_the_classes_and_no_abstract_one():
    for planned in ALL:
        module = importlib.import_module(f"benchmarks.{planned.benchmark.split('.')[0]}")
        assert "Suite" not in vars(module)


def test_regexes_match_as_asv_s_do():
    (chosen,) = plan.choose(ALL, [r"\.SeqLen.*\((128|2048)\)"], quick=False)
    assert [cell.values for cell in chosen.cells] == [(128,), (2048,)]
    assert chosen.pattern() == (
        r"^(training\.SeqLen\.time_train_steps\(128\)|training\.SeqLen\.time_train_steps\(2048\))$"
    )
    with pytest.raises(UsageError, match="no suite matches 'Nonesuch'"):
        plan.choose(ALL, ["Nonesuch"], quick=False)


def test_quick_takes_ends_middle_and_baseline():
    (chosen,) = plan.choose(ALL, [r"\.BatchSize"], quick=True)
    assert [cell.values for cell in chosen.cells] == [(1,), (8,), (64,)]
    (chosen,) = plan.choose(ALL, [r"\.SeqLen"], quick=True)
    assert [cell.values for cell in chosen.cells] == [(128,), (256,), (512,), (2048,)]


def test_cell_names_are_folders():
    assert paths.cell_name((1, "a/b c")) == "1-a_b_c"


SUITE = """from cputrain.model import flops
from cputrain.run import suite


class Heads(suite.Suite):
    'Heads.'

    name = {name!r}
    values = {values}

    def vary(self, base, value):
        return base.but(n_head=value)
"""


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("heads", "(4, 3)", r"Heads\(3\): n_head = 3: n_embd = 256"),
        ("", "(4, 3)", r"Heads\(3\): n_head = 3: n_embd = 256"),
        ("", "(4, 3", "SyntaxError"),
        ("", "nonsense", "NameError.*nonsense"),
    ],
)
def test_a_value_that_cannot_be_is_one_line_with_the_file(
    tmp_path, monkeypatch, name, values, said
):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "mine.py").write_text(SUITE.format(name=name, values=values))
    monkeypatch.setattr(paths, "BENCHMARKS", folder)
    for known in [n for n in sys.modules if n.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, known)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=rf"^benchmarks/mine.py: .*{said}") as caught:
        plan.discover()
    assert "\n" not in str(caught.value)
    sys.modules.pop("benchmarks", None)
