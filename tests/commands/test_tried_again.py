"""What failed is run once more and told; what fails twice, and more than a few, is a failure."""

import sys

import pytest

from cputrain.commands import test as verb
from cputrain.errors import UsageError

pytestmark = pytest.mark.tools

CONFTEST = "def pytest_addoption(parser):\n    parser.addoption('--environment')\n"
ALWAYS = "def test_always(): assert False\n"
NEVER = "def test_never(): pass\n"
ONCE = """
from pathlib import Path
def test_once(seen=Path(__file__).with_suffix(".seen")):
    if not seen.exists():
        seen.touch()
        assert False
"""
ENDED = """
import os
from pathlib import Path
def test_ended(seen=Path(__file__).with_suffix(".seen")):
    if not seen.exists():
        seen.touch()
        os.abort()
"""
HANGS = """
import ctypes, time
lib, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(256)
def test_hangs_in_python(): time.sleep(600)
def test_hangs_in_c():  # where no handler of Python's is reached
    lib.pthread_mutex_lock(mutex)
    lib.pthread_mutex_lock(mutex)
"""
TIMES = ["timeout=3", "faulthandler_timeout=6", "faulthandler_exit_on_timeout=true"]
"""As in pyproject.toml, but for the numbers."""


@pytest.fixture
def run(tmp_path, capfd, monkeypatch):
    """Runs a folder of tests; the status, and all that was said."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others take seconds to import
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin,pytest_timeout")

    def running(*texts, strict=False, words=(), parts=1, processes=0):
        made = []
        for place in range(parts):
            project = tmp_path / f"part{place}"
            (project / "tests").mkdir(parents=True)
            (project / "tests" / "conftest.py").write_text(CONFTEST)
            (project / "pytest.ini").write_text("[pytest]\n")
            for number, text in enumerate([NEVER, *texts]):
                (project / "tests" / f"test_{number}.py").write_text(text)
            python, kept = verb.Path(sys.executable), tmp_path / "kept"
            made.append(verb.TestPart("here", str(place), python, project=project, kept=kept))
        status = verb.run_parts(made, words, strict, processes)
        return status, "".join(capfd.readouterr())

    return running


def told(said, what):
    """The tests named below a heading."""
    rest = said.rpartition(f"\n{what}:\n")[2] if f"\n{what}:\n" in said else ""
    lines = rest.splitlines()
    count = next((n for n, line in enumerate(lines) if not line.startswith("  ")), len(lines))
    return [line.strip() for line in lines[:count]]


@pytest.mark.parametrize("words", [("nosuch",), ("-k", "nosuch"), ("--nosuch",)])
def test_words_that_name_no_test_are_bad_usage(run, words):
    with pytest.raises(UsageError, match="no test was run by: "):
        run(words=words, parts=2)


FAILED_ONCE = ["tests/test_1.py::test_once"]


def test_where_all_pass_nothing_is_run_again(run):
    status, said = run(parts=2)
    assert status == 0 and said.count("1 passed") == 2 and "once" not in said


def test_what_passes_the_second_time_is_told_and_no_failure(run):
    status, said = run(ONCE)
    assert status == 0 and told(said, "failed once, passed when run again") == FAILED_ONCE
    assert "failed twice" not in said


def test_what_failed_in_either_part_is_run_after_both(run):
    status, said = run(ONCE, parts=2)
    assert status == 0 and told(said, "failed once, passed when run again") == FAILED_ONCE * 2
    assert said.rindex("tests here") < said.index("once more, alone")


def test_what_fails_both_times_is_a_failure(run):
    status, said = run(ONCE, ALWAYS, processes=2)
    assert status == 1 and told(said, "failed once, passed when run again") == FAILED_ONCE
    assert told(said, "failed twice") == ["tests/test_2.py::test_always"]


def test_more_than_a_few_are_not_run_again(run):
    status, said = run(*[ONCE] * (verb.MOST_AGAIN + 1))
    assert status == 1 and "4 tests failed; only 3 or fewer are run again" in said
    assert "once more" not in said


def test_of_two_parts_all_failures_count(run):
    status, said = run(ONCE, ONCE, parts=2)
    assert status == 1 and "4 tests failed" in said


def test_strictly_nothing_is_run_again(run):
    status, said = run(ONCE, strict=True)
    assert status == 1 and "once more" not in said


@pytest.mark.parametrize("processes", [0, 1])
def test_a_file_that_cannot_be_imported_is_no_test_that_failed(run, processes):
    status, said = run("import absent\n", processes=processes)
    assert status == 1 and "once more" not in said


@pytest.mark.parametrize("processes", [0, 1])
def test_a_file_that_is_named_runs_where_its_libraries_are(processes, capfd, monkeypatch):
    """pytest ends with an error, and runs nothing, where it ignores a file that is named."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider")
    there = ["tests/test_atomic.py::test_an_error_names_the_file"]
    here = ["tests/test_wording.py"]
    part = verb.TestPart("here", "tools", verb.Path(sys.executable))
    assert part.run([*there, *here, "--collect-only"], processes) == 0
    assert "test_wording" in capfd.readouterr().out
    assert part.run([*there, "--collect-only"], processes) == verb.NOTHING_SELECTED


def test_what_ends_its_process_is_a_failure_of_one_test(run):
    status, said = run(ENDED, processes=1)
    assert status == 0 and "crashed while running 'tests/test_1.py::test_ended'" in said
    assert told(said, "failed once, passed when run again") == ["tests/test_1.py::test_ended"]


def test_what_hangs_is_a_failure_of_one_test_with_its_stack_and_the_others_run(run):
    times = [word for line in TIMES for word in ("-o", line)]
    status, said = run(HANGS, ONCE, strict=True, processes=1, words=times)
    assert status == 1 and "3 failed, 1 passed" in said
    assert "Timeout (>3.0s) from pytest-timeout" in said
    assert "crashed while running 'tests/test_1.py::test_hangs_in_c'" in said
    assert "in test_hangs_in_c" in said.partition("Timeout (0:00:06)!")[2]
