"""The suites of benchmarks/ with all their cells, and the files and suites that cannot be."""

import importlib
import re
import sys

import pytest
from found_suites import ALL

from cputrain import paths
from cputrain.commands import listing
from cputrain.errors import UsageError
from cputrain.sweep import plan


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


def test_every_engine_has_an_identical_pair():
    """Without one no effect of that engine has an interval, however many passes it gets."""
    trained, identical = set(), set()
    for planned in ALL:
        for cell in planned.cells:
            engine = cell.experiment.runtime.engine
            trained.add(engine)
            if planned.name == "Baseline" or cell.baseline == cell.name:
                identical.add(engine)
    assert identical == trained


def test_asv_finds_the_classes_and_no_abstract_one():
    for planned in ALL:
        module = importlib.import_module(f"benchmarks.{planned.benchmark.split('.')[0]}")
        assert "Suite" not in vars(module)


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
    """Have benchmarks/ hold this text in added.py, and nothing else but `files`."""

    def write(files=(), **words):
        folder = tmp_path / "benchmarks"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "added.py").write_text(SUITE.format(**{"name": "", "more": "", **words}))
        for file, text in dict(files).items():
            (folder / file).write_text(text)
        monkeypatch.setattr(paths, "BENCHMARKS", folder)
        for known in [n for n in sys.modules if n.split(".")[0] == "benchmarks"]:
            monkeypatch.delitem(sys.modules, known)
        monkeypatch.syspath_prepend(tmp_path)

    yield write
    for known in [n for n in sys.modules if n.split(".")[0] == "benchmarks"]:
        sys.modules.pop(known)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({"name": "heads", "values": "(4, 3)"}, r"Heads\(3\): n_head = 3: n_embd = 256"),
        ({"values": "(4, 3)"}, r"Heads\(3\): n_head = 3: n_embd = 256"),
        ({"values": "(4,)", "more": "engines = {'jax': (8,)}"}, r"Heads.engines\['jax'\]: 8 is no"),
        (
            {"values": "(4,)", "more": "engines = {'tensor': (4,)}"},
            r"Heads\(4, 'tensor'\): engine =",
        ),
        ({"values": "(4, None)"}, r"Heads\(None\): n_head = None"),
        (
            {"values": "('4 heads', '4_heads')"},
            "Heads: values '4 heads' and '4_heads' have one name in the tables, 4_heads: rename",
        ),
        ({"values": "('',)"}, "Heads: value '' has the name '', which no folder can have"),
        ({"values": "(4,)", "more": "def base(self): return nonsense"}, r"Heads: NameError"),
    ],
)
def test_a_suite_that_cannot_be_is_its_own_line_and_others_go_on(written, capsys, words, line):
    written(**words)
    (good,), (broken,) = plan.survey()
    assert good.name == "Good" and "\n" not in broken.line
    assert re.match(rf"benchmarks/added.py: {line}", broken.line), broken.line

    assert listing.main(None) == 2
    out, err = capsys.readouterr()
    assert "  Good (n_layer): Good." in out and err == f"bench.py: {broken.line}\n"

    plan.refuse([broken], ["Good"])
    for regexes in (None, ["Heads"], ["added"]):
        with pytest.raises(UsageError, match=re.escape(broken.line)):
            plan.refuse([broken], regexes)


@pytest.mark.parametrize(
    ("values", "line"), [("(4, 3", "SyntaxError"), ("nonsense", "NameError.*nonsense")]
)
def test_a_file_that_cannot_be_imported_is_a_line_and_stops_every_run(written, values, line):
    """asv imports every file."""
    written(values=values)
    suites, (broken,) = plan.survey()
    assert suites == [] and re.match(rf"benchmarks/added.py: {line}", broken.line)
    with pytest.raises(UsageError, match=line):
        plan.refuse([broken], ["Good"])


COPIED = """from benchmarks.{other} import Good
from cputrain.run import suite


class Heads(suite.Suite):
    'Heads of my own.'

    values = (2, 4)

    def vary(self, base, value):
        return base.but(n_head=value)
"""


@pytest.mark.parametrize("copy", ["a_copy", "mine"])  # imported before the other file, and after
def test_suites_of_one_name_in_two_files_are_none_and_what_is_only_imported_is_no_suite(
    written, copy
):
    written(files={f"{copy}.py": COPIED.format(other="added")}, values="(4,)")
    suites, broken = plan.survey()
    assert [planned.benchmark for planned in suites] == ["added.Good.time_train_steps"]
    lines = {problem.benchmark.split(".")[0]: problem.line for problem in broken}
    assert lines == {
        file: f"benchmarks/{file}.py: Heads: benchmarks/{other}.py has a suite of this name too, "
        "and records of both would mix: rename one"
        for file, other in ((copy, "added"), ("added", copy))
    }
    plan.refuse(broken, ["Good"])
    for regexes in (None, ["Heads"], [f"{copy}.Heads"], ["added.Heads"]):
        with pytest.raises(UsageError, match="rename one"):
            plan.refuse(broken, regexes)


@pytest.mark.parametrize("folder", ["quick", "claims", "train"])
def test_a_suite_named_as_a_folder_of_records_is_refused(written, folder):
    suite = COPIED.format(other="added").replace("class Heads", f"class {folder}")
    written(files={"mine.py": suite}, values="(4,)")
    suites, (broken,) = plan.survey()
    assert [planned.name for planned in suites] == ["Heads", "Good"]
    assert broken.line.startswith(f"benchmarks/mine.py: {folder}: a suite's name begins with")


def test_a_suite_s_name_may_be_of_a_script_without_capitals(written):
    suite = COPIED.format(other="added").replace("class Heads", "class 頭")
    written(files={"mine.py": suite}, values="(4,)")
    suites, broken = plan.survey()
    assert broken == [] and {planned.name for planned in suites} == {"Heads", "Good", "頭"}


def test_how_many_steps_a_block_has_is_left_to_its_worker():
    for planned in ALL:
        if planned.name in ("Depth", "BatchSize", "SeqLen"):
            assert {cell.experiment.budget.steps for cell in planned.cells} == {None}


def test_asv_s_rounds_are_one_as_a_later_one_could_undo_the_first():
    assert {planned.suite.rounds for planned in ALL} == {1}
    assert {planned.suite.number for planned in ALL} == {1}


def test_only_cells_with_a_baseline_have_a_reference():
    for planned in ALL:
        for cell in planned.cells:
            reference = planned.suite().reference(*cell.values)
            assert (reference is None) == (cell.baseline is None), (planned.name, cell.name)
