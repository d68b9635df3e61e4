"""Files of one's own that `--data` takes, and those that no worker is started for."""

import pytest

from cputrain.errors import UsageError
from cputrain.sweep.training import own_files

pytestmark = pytest.mark.tools

KINDS = "text and JSON lines (.jsonl, .ndjson) are UTF-8, Parquet ends in .parquet"


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("x.bin", b"\x7fELF\x02\xff\xfe", "line 1: not UTF-8 (invalid start byte)"),
        ("x.txt", b"Dear\n\nyou\xe9\n", "line 3: not UTF-8 (invalid continuation byte)"),
        ("x.txt", b"Dear \xe2\x82", "line 1: not UTF-8 (unexpected end of data)"),
        ("x.jsonl", b'{"text": "\xff"}\n', "line 1: not UTF-8 (invalid start byte)"),
        ("x.ndjson", b'"a"\n"\xff"\n', "line 2: not UTF-8 (invalid start byte)"),
        ("x.PARQUET", b"PAR1\x15\x04\xff\xffPAR1", "line 1: not UTF-8 (invalid start byte)"),
    ],
)
def test_what_is_no_utf_8_is_refused_by_its_line(tmp_path, name, data, why):
    path = written(tmp_path, name, data)
    with pytest.raises(UsageError) as caught:
        own_files.checked(path)
    assert str(caught.value) == f"--data {path}: {why}: {KINDS}"


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_character_that_is_cut_where_the_look_ends_is_none_of_these(tmp_path, cut):
    data = b"x" * (own_files.LOOKED_AT - cut) + "\N{GRINNING FACE}".encode() + b" and on"
    path = written(tmp_path, "x.txt", data)
    assert own_files.checked(path) == str(path)
    path.write_bytes(data[: own_files.LOOKED_AT])  # here it is cut where the file ends
    with pytest.raises(UsageError, match="unexpected end of data"):
        own_files.checked(path)


def test_a_large_file_is_looked_into_and_not_read(tmp_path):
    path = written(tmp_path, "x.txt", b"x" * own_files.LOOKED_AT + b"\xff")
    assert own_files.checked(path) == str(path)  # the worker refuses it


def test_parquet_is_no_text_and_known_by_its_end(tmp_path):
    path = written(tmp_path, "x.parquet", b"PAR1\x15\x04\xff\xff\x00PAR1")
    assert own_files.checked(path) == str(path)
    for data in (b"PAR1\x15\x04\xff\xff\x00", b"Dear", b"x"):
        path.write_bytes(data)
        with pytest.raises(UsageError) as caught:
            own_files.checked(path)
        line = f"--data {path}: cut off or no Parquet; a text's name does not end in .parquet"
        assert str(caught.value) == line


def test_a_link_to_itself_is_refused(tmp_path):
    path = tmp_path / "x.txt"
    path.symlink_to(path)
    with pytest.raises(UsageError, match=f"--data {path}: Too many levels"):
        own_files.checked(path)


def test_a_link_is_what_it_points_to(tmp_path):
    blob = written(tmp_path, "blob", b"PAR1\x15\x04\xff\xff\x00PAR1")
    link = tmp_path / "x.parquet"
    link.symlink_to(blob)
    with pytest.raises(UsageError, match=f"--data {blob}: line 1: not UTF-8"):
        own_files.checked(link)
