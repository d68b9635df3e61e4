"""Records are written whole and finite, and read strictly."""

import json
import subprocess
import sys

import pytest

from cputrain.record import answers, files
from cputrain.record.answers import Failed, Phase
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.record.noise import Noise
from cputrain.record.part import Part, readings
from cputrain.record.proof import Check
from cputrain.record.sample import Pair, Sample

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (Sample(step_s=[0.1], loss=[1.0, NAN]), r"loss\[1\] = nan"),
        (
            Sample(step_s=[0.1], loss=[], busy=Check("x", 1, {3: float("inf")}, True)),
            "busy.found.3",
        ),
        (Phase(what="\ud800"), "what is no text"),
        ({"x": object()}, "object"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place_and_never_written_as_null(
    tmp_path, value, named
):
    with pytest.raises(files.RecordError, match=named):
        files.write(tmp_path / "x.json", value)
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    sample = Sample(step_s=[numpy.float64(0.5)], loss=[2.0])
    assert files.decode(files.encode(sample), Sample, 2).step_s == [0.5]


def test_an_answer_is_read_as_what_it_was_written():
    for answer in (Phase(what="training"), Failed(status="out of memory", reason="all of it")):
        assert answers.decode(answers.encode(answer)) == answer


def test_unknown_readings_have_their_reasons():
    noise = readings(Noise, {"wall_s": 1.0, "load_1m": None, "load_1m_reason": "no /proc"})
    assert (noise.load_1m, noise.reasons) == (None, {"load_1m": "no /proc"})
    with pytest.raises(ValueError, match="colour"):
        readings(Noise, {"colour": 1})


def test_parts_do_not_change():
    with pytest.raises(AttributeError):
        Phase(what="a").what = "b"
    assert issubclass(Phase, Part)


def test_what_asv_imports_for_every_cell_is_light():
    program = (
        "import sys; from cputrain.run import suite; "
        "print({'numpy', 'torch', 'polars', 'jax', 'asv'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr


@pytest.mark.parametrize("schema", [2, 3, 4, 5, 6])
def test_a_record_of_this_schema_and_of_the_one_before_is_read(schema):
    key = {"suite": "SeqLen", "values": [128]}
    data = json.dumps({"schema": schema, "key": key, "workers": []}).encode()
    assert files.decode(data, CellRecord, SCHEMA).schema == schema


@pytest.mark.parametrize(
    ("schema", "said"),
    [(1, "written by an earlier version"), (7, "schema 7, and this version reads 6")],
)
def test_a_record_of_another_schema_is_one_line(schema, said):
    with pytest.raises(files.RecordError, match=said):
        files.decode(json.dumps({"schema": schema}).encode(), CellRecord, SCHEMA)


@pytest.mark.parametrize("schema", [2, 3, 4, 5, 6])
def test_a_damaged_record_of_a_schema_that_is_read_names_its_field(schema):
    key = {"suite": "SeqLen", "values": [128], "colour": "red"}
    data = json.dumps({"schema": schema, "key": key, "workers": []}).encode()
    with pytest.raises(files.RecordError, match="colour") as caught:
        files.decode(data, CellRecord, SCHEMA)
    assert "earlier version" not in str(caught.value)


def test_pairs_go_there_and_back():
    sample = Sample(step_s=[0.1, 0.2], loss=[2.0, 1.0])
    pair = Pair(sample=0, reference=sample, first="reference")
    assert files.decode(files.encode(pair), Pair, SCHEMA) == pair
    with pytest.raises(files.RecordError):
        files.decode(files.encode(pair).replace(b'"reference"}', b'"nobody"}'), Pair, SCHEMA)
