"""Each engine's own type of evidence, as checks read it and records keep it."""

import ast
import importlib
import json

import msgspec
import pytest
from msgspec import structs
from settled import settled

from cputrain.engines import executed, recorded, specs
from cputrain.engines.jax_.schema import JaxEvidence
from cputrain.engines.numpy_.schema import NumpyEvidence
from cputrain.engines.torch_.schema import TorchEvidence
from cputrain.paths import PROJECT
from cputrain.record.cell import CellKey
from cputrain.record.evidence import Evidence, decoded, encoded
from cputrain.record.files import RecordError
from cputrain.record.worker import WorkerRecord
from cputrain.run import recording

EAGER = {"optimizer_kernel": "fused", "checkpointed": False, "precision": [["types", 1, 1, True]]}
NATIVE = {"products_by_library": {"own": 4}, "library_calls": 0}


def record_of(experiment, evidence):
    """A worker's record that has not come far, with this evidence."""
    fields = {
        "id": "0",
        "session": "s",
        "run": "r",
        "started": "2026-11-21T11:00:00+00:00",
        "mode": "full",
        "machine": "here",
        "experiment": experiment.to_json(),
        "identity": experiment.identity,
        "evidence": evidence,
    }
    return msgspec.convert(fields, WorkerRecord)


@pytest.mark.parametrize("name", specs.NAMES)
def test_each_engine_declares_its_own_in_its_folder_and_says_what_is_in_it(name):
    kind = specs.of(name).evidence_type
    assert issubclass(kind, Evidence) and kind.__module__.split(".")[-2] == f"{name}_"
    described = "\n".join(base.__doc__ for base in kind.__mro__ if issubclass(base, Evidence))
    for field in structs.fields(kind):
        assert f"{field.name}:" in described or f"{field.name}, " in described, field.name
    with pytest.raises(AttributeError):
        msgspec.convert({}, Evidence).ops = {"more": 1}


def read_attributes(path, name):
    """Attributes of a variable that a file reads, and its keys."""
    return {
        node.attr if isinstance(node, ast.Attribute) else ast.unparse(node.slice)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute | ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }


@pytest.mark.parametrize("name", specs.NAMES)
def test_checks_read_declared_attributes_alone(name):
    module = importlib.import_module(f"cputrain.engines.{name}_.executed")
    read = read_attributes(PROJECT / f"{module.__name__.replace('.', '/')}.py", "evidence")
    declared = {field.name for field in structs.fields(specs.of(name).evidence_type)}
    assert read and read <= declared


def test_a_check_that_reads_a_missing_attribute_or_a_key_would_be_seen(tmp_path):
    path = tmp_path / "executed.py"
    path.write_text("def checks(evidence): return evidence.ops, evidence.opps, evidence['graphs']")
    assert read_attributes(path, "evidence") == {"ops", "opps", "'graphs'"}
    with pytest.raises(AttributeError, match="loops_of_several"):
        executed.checks(settled(engine="jax", compile="xla"), NumpyEvidence())


def test_eager_code_under_the_name_of_a_compiler_fails_its_checks():
    evidence = decoded(TorchEvidence, EAGER)
    results = executed.checks(settled(compile="inductor"), evidence)
    failed = {check.name for check in results if not check.ok}
    assert failed >= {"compiled graphs", "compile backend called", "compiled code from the cache"}


def test_what_is_kept_has_the_names_on_disk_and_no_operators():
    evidence = decoded(TorchEvidence, {**EAGER, "ops": {"a": 1}, "fused": None, "graphs": 1})
    assert evidence.ops == {"a": 1} and evidence.precision[0].as_check().actual == 1
    kept = encoded(evidence)
    assert json.loads(json.dumps(kept)) == {**EAGER, "fused": None, "graphs": 1}
    assert decoded(TorchEvidence, kept) == structs.replace(evidence, ops={})
    names = {field.encode_name for field in structs.fields(JaxEvidence)}
    assert {"products", "numbers"} <= names
    assert not {"products_by_library", "products_by_numbers"} & names


WRONG = [
    ("torch", {**EAGER, "graphs": "one"}, "`$.graphs`"),
    ("torch", {**EAGER, "optimizer_kernel": "fast"}, "`$.optimizer_kernel`"),
    ("torch", {**EAGER, "precision": [["types", 1, 1]]}, "`$.precision[0]`"),
    ("torch", {**EAGER, "cache": {"fxgraph_hits": 1}}, "`$.cache`"),
    ("torch", {**EAGER, "moe_load": [[0.5, "half"]]}, "`$.moe_load[0][1]`"),
    ("torch", {**EAGER, "colour": 3}, "unknown field `colour`"),
    (
        "torch",
        {"checkpointed": False, "precision": []},
        "missing required field `optimizer_kernel`",
    ),
    ("native", {**NATIVE, "library_calls": -1}, "`$.library_calls`"),
    ("native", {"library_calls": 1}, "missing required field `products_by_library`"),
    ("numpy", {"products_by_library": {"mkl": 1.5}}, "`$.products_by_library[...]`"),
    ("numpy", EAGER, "unknown field"),
]


@pytest.mark.parametrize(("engine", "values", "said"), WRONG)
def test_a_record_s_bad_evidence_is_one_line_that_names_the_field(engine, values, said):
    changes = {} if engine == "torch" else {"engine": engine}
    worker = record_of(settled(**changes, attention_backend="manual"), values)
    with pytest.raises(RecordError, match=r"^evidence: ") as refused:
        recorded.evidence(worker)
    assert said in str(refused.value) and "\n" not in str(refused.value)
    with pytest.raises(RecordError, match=r"^not a run record \(worker 0: evidence: .*; delete it"):
        recorded.require_readable([worker])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"checkpointed": 1}, "`$.checkpointed`"),
        ({"graphs": -1}, "`$.graphs`"),
        ({"products_by_library": {"mkl": float("nan")}}, "products_by_library.mkl = nan"),
        ({"cache": {}}, "`$.cache`"),
        ({"moe_load": object()}, "cannot be written as JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_evidence_of_another_type_is_not_written(wrong, said):
    evidence = structs.replace(decoded(TorchEvidence, EAGER), **wrong)
    with pytest.raises(RecordError) as refused:
        encoded(evidence)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_a_record_with_such_evidence_is_not_written(tmp_path):
    key = CellKey("SeqLen", ("128",))
    recording.save(tmp_path, key, record_of(settled(), EAGER))
    before = (tmp_path / recording.FILE).read_bytes()
    with pytest.raises(RecordError, match=r"^evidence: .*`\$\.graphs`$"):
        recording.save(tmp_path, key, record_of(settled(), EAGER | {"graphs": "one"}))
    assert (tmp_path / recording.FILE).read_bytes() == before


def test_an_engine_that_is_not_known_here_and_a_worker_without_evidence_are_read(monkeypatch):
    assert recorded.evidence(record_of(settled(), None)) is None
    worker = record_of(settled(), {"anything": 1})
    monkeypatch.setattr(specs, "NAMES", ("jax",))
    assert recorded.evidence(worker) is None
