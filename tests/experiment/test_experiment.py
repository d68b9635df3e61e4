import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cputrain.engines import specs
from cputrain.experiment import PART_OF, Experiment, ExperimentError
from cputrain.experiment.parts import MOST, Model, Training
from cputrain.experiment.system import MOST as MOST_OF_A_SYSTEM
from cputrain.experiment.system import System

BASELINE = {
    "model": {
        "architecture": "gpt",
        "n_layer": 4,
        "n_embd": 256,
        "n_head": 4,
        "n_kv_head": None,
        "head_dim": None,
        "mlp_ratio": 4,
        "activation": "gelu",
        "dropout": 0.0,
        "attention": "full",
        "window": None,
        "vocab_size": 257,
        "tied": True,
    },
    "training": {
        "objective": "causal",
        "dataset": "text",
        "packing": "packed",
        "seq_len": 256,
        "batch_size": 1,
        "grad_accum": 1,
        "precision": "fp32",
        "optimizer": "adamw",
        "learning_rate": 3e-4,
        "lr_warmup_steps": 0,
        "beta1": 0.9,
        "beta2": 0.95,
        "eps": 1e-8,
        "weight_decay": 0.1,
        "activation_checkpointing": False,
        "rows": 1000,
        "loader": "memory",
        "loader_workers": 0,
        "loader_queue": 8,
        "fine_tuning": "scratch",
        "seed": 0,
    },
    "runtime": {
        "engine": "torch",
        "compile": None,
        "fusion": True,
        "jit_state": "steady",
        "attention_backend": None,
        "optimizer_kernel": None,
        "loss_chunk": None,
        "matmul_backend": "default",
        "cxx": "default",
        "cxx_level": "default",
        "cc": "gcc",
        "cc_level": "Ofast",
        "cc_target": "native",
        "lto": False,
        "auto_kernel_selection": False,
    },
    "system": {
        "cores": None,
        "threads": None,
        "preload": [],
        "affinity": "default",
        "pinning": "none",
        "wait_policy": "default",
        "omp_runtime": "libgomp",
        "omp_schedule": "static",
        "processes": None,
        "intra_op_threads": None,
        "inter_op_threads": None,
        "allocator": "glibc",
        "instruction_set": "native",
        "numa_policy": "default",
        "huge_pages": "default",
        "frequency_ghz": None,
        "governor": "as_found",
        "energy_preference": "as_found",
        "turbo": "as_found",
    },
    "budget": {
        "steps": None,
        "samples": 5,
        "tries": 3,
        "micro_batches": None,
        "warm_up_steps": 30,
        "warm_up_s": 3.0,
        "deadline_s": 300,
    },
}


def test_the_baseline_is_what_every_result_so_far_was_taken_with():
    """Identities leave defaults out: a changed default needs a new SCHEMA, and breaks this."""
    assert Experiment().to_json() == BASELINE
    assert Experiment().identity == "4a1779511a57"


@given(
    seq_len=st.integers(1, 4096),
    n_head=st.sampled_from([1, 2, 4, 8]),
    cores=st.one_of(st.none(), st.integers(1, 999)),
    preload=st.lists(st.just("/lib/a.so"), max_size=2),
)
def test_json_goes_there_and_back(seq_len, n_head, cores, preload):
    experiment = Experiment().but(
        seq_len=seq_len, n_head=n_head, cores=cores, preload=tuple(preload)
    )
    again = Experiment.from_json(json.loads(json.dumps(experiment.to_json())))
    assert again == experiment
    assert again.identity == experiment.identity


def test_identity_tells_experiments_apart_and_not_how_they_were_made():
    base = Experiment()
    assert base.but(seq_len=128).identity != base.identity
    assert base.but(seq_len=128).but(seq_len=256).identity == base.identity
    assert base.but(steps=11).identity == base.identity


def test_absent_fields_take_their_defaults():
    assert Experiment.from_json({"training": {"seq_len": 64}}) == Experiment().but(seq_len=64)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"n_head": 3}, ["n_head = 3", "n_embd = 256"]),
        ({"seq_len": 0}, ["seq_len = 0", "at least 1"]),
        ({"seq_len": True}, ["seq_len = True"]),
        ({"batch_size": 1.5}, ["batch_size = 1.5"]),
        ({"vocab_size": 256}, ["vocab_size = 256", "257"]),
        ({"learning_rate": float("nan")}, ["learning_rate = nan"]),
        ({"engine": "tensorflow"}, ["engine = 'tensorflow'", "torch, ipex, jax, native, numpy"]),
        (
            {"engine": "numpy", "attention_backend": "sdpa"},
            ["attention_backend = 'sdpa'", "engine = 'numpy'"],
        ),
        ({"engine": "../torch"}, ["engine = '../torch'", "a word"]),
        ({"engine": None}, ["engine = None", "a word"]),
        ({"engine": "numpy", "attention_backend": "manual", "compile": "inductor"}, ["compile"]),
        ({"preload": ("lib.so",)}, ["preload = 'lib.so'", "absolute"]),
        ({"preload": ("/a b.so",)}, ["preload"]),
        ({"n_layers": 4}, ["n_layers = 4", "no such field", "n_layer"]),
    ],
)
def test_what_cannot_be_is_refused_by_name_value_and_rule(changes, named):
    with pytest.raises(ExperimentError) as caught:
        specs.settle(Experiment().but(**changes))
    assert all(word in str(caught.value) for word in named), str(caught.value)


@pytest.mark.parametrize(("name", "most"), [*MOST.items(), *MOST_OF_A_SYSTEM.items()])
def test_a_size_of_no_model_is_refused_with_its_limit(name, most):
    part = {"model": Model, "training": Training, "system": System}[PART_OF[name]]
    fields = {"n_head": 1} if name == "n_embd" else {"head_dim": 1} if name == "n_head" else {}
    assert getattr(part(**{**fields, name: most}), name) == most
    with pytest.raises(ExperimentError) as caught:
        part(**{**fields, name: most + 1})
    assert str(caught.value) == f"{name} = {most + 1}: a whole number of at most {most} is needed"


def test_every_size_that_a_step_grows_with_has_a_limit():
    sizes = {name for name, value in Experiment().flat().items() if type(value) is int}
    assert sizes - set(BASELINE["budget"]) == MOST.keys() - {"head_dim"}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"models": {}},
        {"model": 4},
        {"model": {"seq_len": 4}},
        {"model": {"n_layer": "4"}},
        {"system": {"threads": 0}},
    ],
)
def test_bad_json_is_refused_in_one_line(data):
    with pytest.raises(ExperimentError) as caught:
        Experiment.from_json(data)
    assert "\n" not in str(caught.value)


def test_no_two_parts_share_a_field_name():
    assert len(PART_OF) == sum(len(fields) for fields in BASELINE.values())
