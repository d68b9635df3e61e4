import pytest

from cputrain.sweep import safekeeping


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results", tmp_path / "copies"


def test_a_file_that_broke_off_is_replaced_by_its_copy(folders):
    results, copies = folders
    (results / "abc.json").write_text('{"a": 1}')
    safekeeping.keep(results, copies)
    (results / "abc.json").write_text('{"a": 1, "b"')
    (line,) = safekeeping.mend(results, copies)
    assert "abc.json broke off" in line
    assert (results / "abc.json").read_text() == '{"a": 1}'
    assert (results / "abc.json.broken").read_text() == '{"a": 1, "b"'


def test_without_a_copy_it_is_put_aside(folders):
    results, copies = folders
    (results / "abc.json").write_text("")
    (line,) = safekeeping.mend(results, copies)
    assert "put aside" in line and not (results / "abc.json").exists()


def test_whole_files_stay_and_a_broken_one_is_never_the_copy(folders):
    results, copies = folders
    (results / "abc.json").write_text('{"a": 1}')
    safekeeping.keep(results, copies)
    (results / "abc.json").write_text('{"a": 2}')
    assert safekeeping.mend(results, copies) == []
    assert (results / "abc.json").read_text() == '{"a": 2}'
    (results / "abc.json").write_text("{")
    safekeeping.keep(results, copies)
    assert (copies / "abc.json").read_text() == '{"a": 1}'
