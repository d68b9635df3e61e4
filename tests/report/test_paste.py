"""Lines to paste are what the settings of workers are made of."""

import pytest
from settled import settled

from cputrain.commands import cli, model_flags
from cputrain.engines import specs
from cputrain.knobs.allocator import Allocator
from cputrain.knobs.instructions import Instructions
from cputrain.knobs.knob import Placement
from cputrain.knobs.waiting import Waiting
from cputrain.report import paste

pytestmark = pytest.mark.tools

USUAL = settled()
PLACED = Placement(cpus=(0, 1), physical_cores=2, threads=2, omp_threads=2)


def lines(**changes):
    return paste.lines(USUAL.but(**changes).to_json(), USUAL.to_json())


@pytest.mark.parametrize(
    ("knob", "changes"),
    [
        (Allocator(), {"allocator": "glibc_thresholds"}),
        (Waiting(), {"wait_policy": "passive"}),
        (Waiting(), {"wait_policy": "spin_0"}),
        (Instructions(), {"instruction_set": "avx2"}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else type(value).__name__,
)
def test_variables_are_those_that_workers_get(knob, changes):
    given = knob.environment(USUAL.but(**changes), PLACED)
    assert given
    (line,) = lines(**changes)
    assert sorted(word.partition("=")[0] for word in line.split(" ") if "=" in word) == sorted(
        given
    )
    assert all(value.split()[0] in line for value in given.values())


def test_several_fields_are_several_lines():
    assert lines(precision="bf16", threads=1) == [
        "model.to(torch.bfloat16)",
        "OMP_NUM_THREADS=1",
    ]


def test_an_engine_is_named_alone_whatever_it_does_by_itself():
    jax = settled(engine="jax")
    assert jax.runtime.compile != USUAL.runtime.compile
    (line,) = paste.lines(jax.to_json(), USUAL.to_json())
    assert line == "python3 bench.py train --engine jax ..."


def test_what_the_engine_would_not_do_by_itself_is_a_flag():
    openblas = settled(engine="native", matmul_backend="openblas")
    (line,) = paste.lines(openblas.to_json(), USUAL.to_json())
    assert line == "python3 bench.py train --engine native --matmul-backend openblas ..."
    args = cli.parse([*line.split()[2:-1], "--steps", "9"])
    assert specs.settle(model_flags.experiment(args)) == openblas
    larger = openblas.but(n_embd=512)
    assert paste.lines(larger.to_json(), USUAL.but(n_embd=512).to_json()) == [line]


def test_what_has_no_line_outside_this_project_is_named_by_its_field():
    assert lines(precision="q4") == ["precision='q4'"]
    assert lines(loss_chunk=64) == ["loss_chunk=64"]


def test_an_optimizer_s_kernel_is_an_argument_of_its_own_class():
    sgd = settled(optimizer="sgd")
    foreach = sgd.but(optimizer_kernel="foreach").to_json()
    assert paste.lines(foreach, sgd.to_json()) == ["torch.optim.SGD(..., foreach=True)"]
    assert lines(optimizer_kernel="foreach") == ["torch.optim.AdamW(..., foreach=True)"]
    assert lines(optimizer_kernel="default") == ["optimizer_kernel='default'"]
    lion = settled(optimizer="lion").to_json()
    assert paste.lines(lion, USUAL.to_json()) == ["optimizer='lion'", "optimizer_kernel='default'"]


def test_cores_are_the_cpus_that_were_measured():
    """One CPU of each core, of those that were allowed: they need not be the first ones."""
    two = USUAL.but(cores=2).to_json()
    assert paste.lines(two, USUAL.to_json(), (1, 3)) == ["taskset --cpu-list 1,3"]
    assert paste.lines(USUAL.but(cores=3).to_json(), USUAL.to_json(), (2, 3, 4)) == [
        "taskset --cpu-list 2-4"
    ]
    fast = USUAL.but(affinity="performance_cores").to_json()
    assert paste.lines(fast, USUAL.to_json(), (0, 2, 4)) == ["taskset --cpu-list 0,2,4"]
    assert paste.lines(two, USUAL.to_json()) == ["cores=2"]
    assert paste.lines(USUAL.to_json(), two, (0, 1)) == ["cores=None"]


def test_a_line_of_torch_is_not_told_to_another_engine():
    jax = settled(engine="jax", compile="xla", attention_backend="manual")
    assert paste.lines(jax.but(precision="bf16").to_json(), jax.to_json()) == ["precision='bf16'"]
