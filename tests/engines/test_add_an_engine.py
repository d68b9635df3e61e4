"""An engine is added by adding a folder, and nobody else asks which engine it is."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cputrain.engines import specs
from cputrain.experiment import Experiment, ExperimentError
from cputrain.paths import PROJECT

SPEC = '''
"""A toy on paper."""

from cputrain.engines.numpy_.spec import NumpySpec


class ToySpec(NumpySpec):
    """The NumPy engine under another name."""

    name = "toy"
    only = {**NumpySpec.only, "activation": ("gelu",)}


SPEC = ToySpec()
'''
ENGINE = '''
"""A toy."""

from cputrain.engines.numpy_.engine import NumpyEngine


class ToyEngine(NumpyEngine):
    """The NumPy engine under another name."""

    name = "toy"

    def versions(self):
        """Its own version."""
        return {"toy": "1"}


build = ToyEngine
'''
RUN = """
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.cell import CellKey
from cputrain.run.cell import CellRun

small = {"n_layer": 1, "n_embd": 32, "n_head": 2, "seq_len": 32, "learning_rate": 0.01}
budget = {"steps": 4, "samples": 1, "warm_up_steps": 4}
cell = CellRun(CellKey("Trial", ("toy",)), Experiment().but(engine="toy", **small, **budget))
cell.sample()
cell.settle()
print(files.encode(cell.record).decode())
"""


@pytest.fixture
def project(tmp_path):
    """A copy of the program with one folder more."""
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "cputrain", tmp_path / "cputrain", ignore=leave)
    toy = tmp_path / "cputrain/engines/toy_"
    toy.mkdir()
    (toy / "__init__.py").touch()
    (toy / "spec.py").write_text(SPEC)
    (toy / "engine.py").write_text(ENGINE)
    return tmp_path


def in_copy(project, code, *words):
    """What `code` prints in a process whose program is the copy."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith("CPUTRAIN_")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *words],
        capture_output=True,
        text=True,
        cwd=project,
        env={**keep, "PYTHONPATH": str(project), "CPUTRAIN_OFFLINE": "1"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_a_folder_is_an_engine_that_trains_in_a_real_worker(project):
    record = json.loads(in_copy(project, RUN))
    assert record["status"] == "ok" and record["versions"]["toy"] == "1"
    assert len(record["samples"][0]["step_s"]) == 4
    assert record["last_loss"] < record["first_loss"]
    assert all(check["ok"] for check in record["in_force"])
    assert {"BLAS threads", "threads that used CPU time"} & {c["name"] for c in record["in_force"]}


def test_it_stands_among_the_others_and_is_refused_what_it_cannot_take(project):
    code = """
from cputrain.engines import specs
from cputrain.experiment import Experiment
for changes in ({"engine": "toy", "activation": "relu"}, {"engine": "tow"}, {"cc": "clang"}):
    try:
        specs.settle(Experiment().but(**changes))
    except ValueError as error:
        print(error, end="; ")
print(specs.NAMES, specs.settle(Experiment().but(engine="toy")).runtime.attention_backend)
"""
    said = in_copy(project, code)
    assert "activation = 'relu': engine = 'toy' has gelu only" in said
    assert "engine = 'tow': one of torch, ipex, jax, native, numpy, toy is needed" in said
    assert "cc = 'clang': engine = 'torch' has no such setting: native has" in said
    assert said.endswith("'toy') manual")


def test_a_folder_without_a_spec_is_no_engine(project):
    (project / "cputrain/engines/toy_/spec.py").unlink()
    assert "toy" not in in_copy(project, "from cputrain.engines import specs; print(specs.NAMES)")


@pytest.mark.parametrize("name", specs.NAMES)
def test_every_spec_says_what_it_has_to(name):
    spec, settled = specs.of(name), specs.settle(Experiment().but(engine=name))
    assert spec.name == name and specs.settle(settled) is settled
    assert spec.start_s > 0 and spec.framework_bytes > 0 and spec.knobs
    assert None not in (settled.runtime.compile, settled.runtime.attention_backend)
    fields = Experiment().flat()
    assert {*spec.only, *spec.defaults, *spec.has} <= {*fields} and {*spec.has} <= {*specs.OF_SOME}
    for changes in spec.variants.values():
        specs.settle(Experiment().but(engine=name, **changes))
    assert {*spec.compile_s, *spec.compiler_bytes} <= {*spec.only["compile"]}


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ExperimentError, match="engine = 'tensorflow': one of torch, "):
        specs.of("tensorflow")


def test_specs_need_the_standard_library_only():
    code = (
        "import sys; from cputrain.engines import specs, settings\n"
        "for name in specs.NAMES: specs.of(name)\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    frameworks = {"torch", "jax", "numpy", "threadpoolctl", "intel_extension_for_pytorch"}
    assert frameworks.isdisjoint(done.stdout.split())


def engines_compared(text):
    """Comparisons with an engine's name, and tables by engine, as Python source.

    "native" is also a set of instructions: it counts where an engine is spoken of.
    """
    comparisons = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            values = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            values = [key for key in node.keys if key is not None]
        else:
            continue
        lists = (ast.Tuple, ast.List, ast.Set)
        values = [e for v in values for e in (v.elts if isinstance(v, lists) else [v])]
        names = {v.value for v in values if isinstance(v, ast.Constant)} & {*specs.NAMES}
        source = ast.unparse(node)
        if isinstance(node, ast.Dict):
            counts = len(names) > 1
        else:
            counts = bool(names - {"native"}) or (bool(names) and "engine" in source)
        if counts:
            comparisons.append(source)
    return comparisons


LIBRARIES_NOT_ENGINES = {Path("cputrain/knobs/instructions.py")}
"""What libraries say of themselves, by library: two have the name of an engine."""


def test_no_file_outside_engines_compares_an_engine_s_name():
    comparisons = {}
    for path in sorted((PROJECT / "cputrain").rglob("*.py")):
        file = path.relative_to(PROJECT)
        if file.parts[1] != "engines" and file not in LIBRARIES_NOT_ENGINES:
            comparisons |= (
                {str(file): lines} if (lines := engines_compared(path.read_text())) else {}
            )
    assert comparisons == {}


@pytest.mark.parametrize(
    "text",
    [
        "experiment.runtime.engine == 'native'",
        "engine in ('torch', 'ipex')",
        "name != 'jax'",
        "START_S = {'torch': 4.0, 'numpy': 2.0}",
    ],
)
def test_a_file_that_did_would_be_found(text):
    assert engines_compared(text)
