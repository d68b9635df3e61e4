"""Real workers on every kind of training: each proves what it did, or says why it cannot."""

import json
import shutil

import pytest
from settled import FEW_STEPS, settled

torch = pytest.importorskip("torch")


from cputrain import engines, environ  # noqa: E402
from cputrain.data import feed  # noqa: E402
from cputrain.experiment import Experiment  # noqa: E402
from cputrain.model.initial import initial_weights  # noqa: E402
from cputrain.record.cell import CellKey  # noqa: E402
from cputrain.run import compiled  # noqa: E402
from cputrain.run.cell import CellRun  # noqa: E402
from cputrain.run.failed import CellFailed  # noqa: E402
from cputrain.run.session import Session  # noqa: E402

SMALL = settled(n_layer=1, n_embd=64, seq_len=32, threads=1, **FEW_STEPS)


def run(experiment, value="x", start=None):
    """The record of a cell's one sample."""
    cell = CellRun(CellKey("Trial", (value,)), experiment, start=start)
    cell.sample()
    cell.settle()
    return json.loads((cell.folder / "run.json").read_text())["workers"][-1]


@pytest.mark.parametrize(
    "changes",
    [
        {"architecture": "bert", "objective": "masked_node", "vocab_size": 258},
        {"dataset": "paths", "packing": "padded", "vocab_size": 45, "rows": None},
        {"loader": "stream", "loader_workers": 2, "grad_accum": 2},
        {"architecture": "moe", "dropout": 0.1, "attention_backend": "manual"},
    ],
    ids=str,
)
def test_it_trains(leased, changes):
    record = run(SMALL.but(**changes))
    assert record["status"] == "ok" and record["last_loss"] < record["first_loss"]
    assert record["trained"]["parameters_moved"] == record["trained"]["parameters"]
    (sample,) = record["samples"]
    assert (sample["waited_s"] > 0) == (changes.get("loader") == "stream")
    assert record["composed"] is None


def test_forward_changes_nothing(leased):
    record = run(SMALL.but(objective="forward"))
    assert record["last_loss"] == pytest.approx(record["first_loss"], rel=1e-4)
    assert record["trained"]["parameters_moved"] == 0
    assert record["trained"]["steps_done"] == record["trained"]["steps_asked"] > 4


def test_a_reckoned_step_says_so(leased):
    record = run(SMALL.but(grad_accum=8, micro_batches=2))
    assert record["composed"] == "sum of 2 micro-batches x 4 and the update"
    assert record["counts"]["tokens_per_step"] == 8 * 32


def test_whole_steps_are_timed_where_one_is_a_single_program(leased):
    pytest.importorskip("jax")
    parts = {"grad_accum": 4, "micro_batches": 2}
    record = run(Experiment().but(engine="jax", n_layer=1, n_embd=64, seq_len=32, **parts))
    assert record["composed"] is None and record["samples"]


@pytest.mark.parametrize("compiler", ["xla", "aot_eager"])
def test_a_compiled_step_s_loss_fell_from_that_of_the_first_batch_alone(leased, compiler):
    """The first step's own is of both its micro-batches, with dropout."""
    engine = "jax" if compiler == "xla" else "torch"
    pytest.importorskip(engine)
    experiment = SMALL.but(grad_accum=2, dropout=0.2, attention_backend="manual")
    record = run(experiment.but(engine=engine, compile=compiler))
    batch = feed.open_feed(experiment, leased / "data", offline=True).first
    plain = engines.build(experiment, initial_weights(experiment))
    assert record["first_loss"] == pytest.approx(plain.loss(batch), rel=1e-5)
    assert record["status"] == "ok" and record["last_loss"] < record["first_loss"]


def test_what_bf16_cannot_move_is_named_with_the_reason(leased):
    record = run(SMALL.but(precision="bf16"))
    excused = record["trained"]["excused"]
    assert excused and all(".ln_" in f".{name}" and why for name, why in excused.items())
    products = next(c for c in record["in_force"] if c["name"] == "types of matrix products")
    assert products["found"] == ["bf16"]


def test_fine_tuning_goes_on_where_the_saved_model_stopped(leased):
    lora = SMALL.but(fine_tuning="lora")
    missing = CellRun(CellKey("Trial", ("lora",)), lora, start=("scratch",)).why_no_start()
    assert "scratch/model.safetensors is not there" in missing
    scratch = run(SMALL, "scratch")
    record = run(lora, "lora", start=("scratch",))
    assert record["first_loss"] == pytest.approx(scratch["last_loss"], rel=1e-4)
    assert record["trained"]["parameters_moved"] == 4 < record["trained"]["parameters"]
    assert record["started_from"]["file"].endswith("scratch/model.safetensors")


@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
def test_a_session_compiles_once_and_a_warm_first_step_finds_the_code(own_root, monkeypatch):
    monkeypatch.setattr(compiled, "COMPILED", own_root / "compiled")
    monkeypatch.setenv(environ.SESSION, "s")
    first = SMALL.but(compile="inductor", steps=1, jit_state="cold")
    cold, warm = run(first, "cold"), run(first.but(jit_state="warm"), "warm")
    steady = run(first.but(jit_state="steady"), "steady")
    assert cold["evidence"]["cache_hits"] == 0 < warm["evidence"]["cache_hits"]
    assert steady["evidence"]["cache"]["fxgraph_misses"] == 0 < steady["evidence"]["cache_hits"]
    assert [record["found_code"] for record in (cold, warm, steady)] == [False, True, True]
    for record in (cold, warm):
        (sample,) = record["samples"]
        (step_s,) = sample["step_s"]
        assert 0 < step_s <= record["phases"]["first_step_s"]  # both are of this one step
        assert record["last_loss"] < record["first_loss"]
    compiled.remove(Session.from_env())
    assert list((own_root / "compiled").iterdir()) == []


def test_a_start_that_was_damaged_is_a_failed_cell(leased):
    run(SMALL, "scratch")
    (leased / "output/here/Trial/scratch/model.safetensors").write_bytes(b"\x10")
    with pytest.raises(CellFailed, match=r"model.safetensors cannot be read"):
        run(SMALL.but(fine_tuning="full"), "full", start=("scratch",))
