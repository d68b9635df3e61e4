"""All records of a machine in one file: nothing is lost, and nothing is believed unchecked."""

import gzip
import json
import os
import random
import zlib

import pytest

from cputrain.results import packed

pytestmark = pytest.mark.tools

RECORDS = {
    "SeqLen/128-torch/run.json": b'{"schema":4,"x":[1.0e-08,0.10000000000000000000001]}',
    "SeqLen/128-torch/references.json": b'{"a":"\xc3\xa9 \\u00e9 \\n"}',
    "quick/SeqLen/128-torch/run.json": b"{}",
    "parts/Framework-jax/parts.json": b"[1,2]",
    "altered/untrained_int8/altered.json": b'{"name":"untrained_int8"}',
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "here" / packed.FILE


def raw(path, *lines):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(b"".join(line + b"\n" for line in lines)))
    return packed.read(path)


def line(place, record="{}"):
    return b'{"path":%s,"record":%s}' % (json.dumps(place).encode(), record.encode())


def test_what_was_packed_is_read_byte_by_byte(path):
    packed.write(path, RECORDS)
    pack = packed.read(path)
    assert dict(pack.records) == RECORDS and pack.problems == ()


def test_any_tool_reads_it_line_by_line(path):
    packed.write(path, RECORDS)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    records = {entry["path"]: entry["record"] for entry in map(json.loads, lines)}
    assert records == {place: json.loads(record) for place, record in RECORDS.items()}
    assert list(records) == sorted(records)


def test_the_same_records_are_the_same_bytes(path):
    packed.write(path, RECORDS)
    first = path.read_bytes()
    os.utime(path, (1, 1))
    packed.write(path, dict(reversed(RECORDS.items())))
    assert path.read_bytes() == first
    assert first[3:8] == bytes(5)  # neither a name nor a date


def test_spaces_of_a_record_are_not_kept_and_its_numbers_are(path):
    packed.write(path, {"S/1/run.json": b'{\n "a": 1.50,\n "b": "x  y"\n}\n'})
    assert packed.read(path).records["S/1/run.json"] == b'{"a":1.50,"b":"x  y"}'


def test_without_a_file_there_is_nothing(path):
    assert packed.read(path) == packed.Pack()
    path.parent.write_text("no folder")
    assert packed.read(path) == packed.Pack()


def test_of_a_file_that_is_cut_off_the_whole_records_are_used(path):
    rng = random.Random(3)
    many = {f"S/{n}/run.json": b'"%d"' % rng.getrandbits(900) for n in range(200)}
    packed.write(path, many)
    whole = path.read_bytes()
    counts = []
    for length in range(0, len(whole), 997):
        path.write_bytes(whole[:length])
        pack = packed.read(path)
        (problem,) = pack.problems
        assert problem.path == path and "cut off" in problem.reason
        assert all(many[place] == record for place, record in pack.records.items())
        counts.append(len(pack.records))
    assert counts == sorted(counts) and counts[0] == 0 and 150 < counts[-1] < 200


def test_of_a_file_whose_checksum_is_wrong_nothing_is_used(path):
    packed.write(path, {f"S/{n}/run.json": b"0.0123" for n in range(9)})
    whole = path.read_bytes()
    for place in range(len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 4
        path.write_bytes(broken)
        pack = packed.read(path)
        assert pack.records == {} or set(pack.records.values()) == {b"0.0123"}
        if place >= len(whole) - 8:  # checksum and length
            (problem,) = pack.problems
            assert not pack.records and "damaged, nothing of it is used" in problem.reason


@pytest.mark.parametrize("content", [b"", b"{}", b"\x1f\x8b", b"\x1f\x8b" + bytes(40)])
def test_what_is_no_such_file_is_a_problem(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    pack = packed.read(path)
    assert pack.records == {} and len(pack.problems) == 1
    assert "\n" not in str(pack.problems[0])


def test_what_follows_is_not_read_and_said(path):
    packed.write(path, RECORDS)
    path.write_bytes(path.read_bytes() + gzip.compress(line("S/1/run.json")))
    pack = packed.read(path)
    (problem,) = pack.problems
    assert dict(pack.records) == RECORDS and "something follows" in problem.reason


@pytest.mark.parametrize(
    "place",
    [
        "../S/1/run.json",
        "/S/1/run.json",
        "S/../run.json",
        "S/./run.json",
        "S/../../there/S/1/run.json",
        "quick/quick/S/1/run.json",
        "quick/S/run.json",
        "S/1/model.safetensors",
        "S/1/run.json\n",
        "S/1/run.json.broken",
        "S/1\x00/run.json",
        "S/a b/run.json",
        "S\\1\\run.json",
        "S//run.json",
        "S/1/2/run.json",
        "run.json",
        "",
        "S/" + "1" * 700 + "/run.json",
    ],
)
def test_a_path_that_no_record_has_is_one_problem_and_never_written(path, place):
    pack = raw(path, line("S/1/run.json"), line(place), line("S/2/run.json"))
    (problem,) = pack.problems
    assert list(pack.records) == ["S/1/run.json", "S/2/run.json"]
    assert problem.reason.startswith("line 2 is no record") and "\n" not in str(problem)
    with pytest.raises(ValueError, match="is no record's"):
        packed.write(path, {place: b"{}"})


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b"[]", "Expected `object`"),
        (b"\xff\xfe", "malformed"),
        (b'{"path":"S/3/run.json"}', "missing required field `record`"),
        (b'{"path":3,"record":{}}', "$.path"),
        (b'{"path":"S/3/run.json","record":{},"more":1}', "unknown field `more`"),
        (b'{"path":"S/3/run.json","record":{"a":}}', "malformed"),
        (b'{"path":"S/3/run.json","record":' + b"[" * 100_000, "recursion"),
        (line("S/1/run.json", '"second"'), "has S/1/run.json once more"),
    ],
)
def test_a_broken_line_is_one_problem_and_the_rest_is_used(path, bad, said):
    pack = raw(path, line("S/1/run.json", "1"), bad, line("S/2/run.json", "2"))
    (problem,) = pack.problems
    assert dict(pack.records) == {"S/1/run.json": b"1", "S/2/run.json": b"2"}
    assert "line 2" in problem.reason and said in problem.reason


def test_many_broken_lines_are_some_problems(path):
    pack = raw(path, *[b"{"] * 5000)
    assert len(pack.problems) == packed.MOST_PROBLEMS + 1
    assert "4990 more lines" in pack.problems[-1].reason


def test_a_file_that_unpacks_to_more_than_anybody_has_is_not_unpacked(path, monkeypatch):
    monkeypatch.setattr(packed, "LARGEST", 100_000)
    pack = raw(path, line("S/1/run.json", "1"), b" " * 10_000_000, line("S/2/run.json", "2"))
    (problem,) = pack.problems
    assert list(pack.records) == ["S/1/run.json"] and "unpacks to more than" in problem.reason


def test_a_link_is_not_followed(path, tmp_path):
    packed.write(tmp_path / "elsewhere", RECORDS)
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    pack = packed.read(path)
    assert pack.records == {} and "not a regular file" in pack.problems[0].reason


@pytest.mark.parametrize("record", [b"", b"{", b'{"a": NaN}', b'"\xff"', b"1 2"])
def test_what_is_no_json_is_not_packed(path, record):
    with pytest.raises(ValueError, match=r"S/1/run\.json: not JSON"):
        packed.write(path, {"S/1/run.json": record})
    assert not path.exists()


def test_a_changed_file_is_read_again(path):
    packed.write(path, {"S/1/run.json": b"1"})
    assert packed.read(path).records == {"S/1/run.json": b"1"}
    packed.write(path, {"S/1/run.json": b"2"})
    assert packed.read(path).records == {"S/1/run.json": b"2"}


def test_its_compression_is_gzips(path):
    packed.write(path, RECORDS)
    assert zlib.decompress(path.read_bytes(), 31) == gzip.decompress(path.read_bytes())
