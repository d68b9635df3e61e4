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


def test_killed_before_the_copy_is_in_its_place_the_next_one_mends(folders, monkeypatch):
    results, copies = folders
    (results / "abc.json").write_text('{"a": 1}')
    safekeeping.keep(results, copies)
    (results / "abc.json").write_text('{"a": 1, "b"')
    write = safekeeping.write_bytes

    def killed(path, data):
        if path == results / "abc.json":
            raise KeyboardInterrupt
        write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(safekeeping, "write_bytes", killed)
        with pytest.raises(KeyboardInterrupt):
            safekeeping.mend(results, copies)
    assert len(safekeeping.mend(results, copies)) == 1
    assert (results / "abc.json").read_text() == '{"a": 1}'
    assert (results / "abc.json.broken").read_text() == '{"a": 1, "b"'


def test_what_somebody_has_deleted_is_not_put_back(folders):
    results, copies = folders
    (results / "abc.json").write_text('{"a": 1}')
    safekeeping.keep(results, copies)
    (results / "abc.json").unlink()
    assert safekeeping.mend(results, copies) == [] and not list(results.iterdir())
