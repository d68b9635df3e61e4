"""README's "add a variable": how many places a new activation or a new variable takes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cputrain.experiment import Experiment
from cputrain.paths import PROJECT
from cputrain.run import suite

README = (PROJECT / "README.md").read_text()


def code_blocks(heading):
    section = README.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"```python\n(.*?)```", section, re.S)


def test_the_class_in_the_readme_is_a_whole_variable():
    names = {"suite": suite}
    exec(code_blocks("Add a variable")[0], names)
    (made,) = (kind for name, kind in names.items() if name not in ("suite", "__builtins__"))
    cells = made().cells()
    assert len(cells) == len(made.values) and made.param_names[0] in Experiment().flat()
    assert len({made().experiment(*cell).identity for cell in cells}) == len(cells)


def test_an_activation_is_named_in_one_line_of_the_program():
    """The NumPy reference has formulas of its own, on purpose: it is what torch is held against."""
    named = []
    for folder in ("cputrain", "benchmarks"):
        for path in sorted((PROJECT / folder).rglob("*.py")):
            if path.parent.name != "numpy_":
                lines = path.read_text().splitlines()
                named += [(path.name, line) for line in lines if "relu2" in line]
    assert [name for name, _ in named] == ["activations.py"], named


TRAIN = """
import numpy as np
from cputrain.experiment import activations
table = activations.ACTIVATIONS  # as the modules have it that were imported with it
before = set(table)
text = open(activations.__file__).read()
exec(text.replace('    "relu2"', {line!r} + '    "relu2"'), vars(activations))
table.update(activations.ACTIVATIONS)
(new,) = set(table) - before
from benchmarks.model import Activation
from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.model.initial import initial_weights
assert (new,) in Activation().cells()
small = {{"n_layer": 1, "n_embd": 32, "n_head": 2, "seq_len": 16, "learning_rate": 0.01}}
experiment = Activation().experiment(new).but(**small)
engine = engines.build(experiment, initial_weights(experiment))
ids = np.random.default_rng(0).integers(0, 257, (1, 17))
batch = Batch(np.ascontiguousarray(ids[:, :-1]), np.ascontiguousarray(ids[:, 1:]))
losses = [engine.train_step(batch) for _ in range(40)]
assert losses[-1] < 0.5 * losses[0], losses
from cputrain.engines import executed
from cputrain.knobs.inforce import NotInForce, require
require(executed.checks(experiment, engine.evidence(batch)))
mlp = engine.module.h[0].mlp
mlp.activation = table["swiglu" if mlp.gated else "silu"]
try:
    require(executed.checks(experiment, engine.evidence(batch)))
except NotInForce as error:
    print("trained with", new, "and not with silu:", error)
"""
OTHERS = (
    '    "relu6": lambda F, x: F.relu6(x),\n',
    '    "selu": lambda F, x: F.selu(x),\n',
    '    "gated softplus": lambda F, x, gate: x * F.softplus(gate).tanh(),\n',
)
"""An operator of another name, one that calls another, and a method beside a function."""


@pytest.mark.parametrize("line", [code_blocks("Add a variable")[1], *OTHERS])
def test_a_line_as_in_the_readme_adds_an_activation_that_trains_and_is_in_force(line):
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", TRAIN.format(line=line)],
        capture_output=True,
        text=True,
        cwd=Path(PROJECT),
    )
    assert done.returncode == 0, done.stderr
    assert re.search("trained with .* and not with silu: calls of", done.stdout), done.stdout
