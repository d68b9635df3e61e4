"""A disk that is full, or read-only, from some write on: a line, and nothing lost."""

import errno
import hashlib
import shutil

import polars
import pytest
from faulty_files import Faulty

pytestmark = pytest.mark.tools

OPERATIONS = {errno.ENOSPC: 320, errno.EROFS: 380}  # of a sweep of two suites, at least
FULL = ("No space left on device", "Read-only file system")


def contents(folder):
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for part in ("output", "result/asv")
        for path in (folder / part).rglob("*")
        if path.is_file()
    }


def test_an_export_says_so_and_harms_nothing_wherever_it_happens(trial, tmp_path_factory, request):
    status, out = trial.run("--bench", "First")
    assert status == 0, out
    before = contents(trial.folder)
    table = polars.read_parquet(trial.folder / "result" / "results.parquet")
    faulty = Faulty(tmp_path_factory.mktemp("faults") / "shim", trial.folder)
    usual = dict(trial.env)

    def export(number, error):
        shutil.rmtree(trial.folder / ".asv" / "export", ignore_errors=True)
        trial.env = usual | faulty.failing(number, error)
        process = trial.start("export")
        return process.communicate(timeout=120)[0], process.returncode

    for error in (errno.ENOSPC, errno.EROFS):
        out, status = export(0, error)
        assert status == 0, out
        total = faulty.counted()
        faults = request.config.getoption("--faults") + 1
        for number in sorted({1} | {total * part // faults for part in range(1, faults + 1)} - {0}):
            out, status = export(number, error)
            assert status in (1, 2) and "Traceback" not in out, (number, out)
            last = out.strip().splitlines()[-1]
            assert last.startswith("bench.py: ") and last.endswith(FULL), (number, out)
            assert str(trial.folder) in last
            assert contents(trial.folder) == before
            if error == errno.ENOSPC:  # of a disk that cannot be written nothing can be deleted
                assert not list(trial.folder.rglob("*.tmp")), number
    for left in trial.folder.rglob("*.tmp"):
        left.unlink()
    trial.env = usual
    assert trial.start("export").wait(timeout=120) == 0
    again = polars.read_parquet(trial.folder / "result" / "results.parquet")
    assert again.equals(table)


def test_a_sweep_stops_with_a_line_and_goes_on_when_there_is_room(
    trial, tmp_path_factory, fault, request
):
    error = (errno.ENOSPC, errno.EROFS)[fault % 2]
    number = OPERATIONS[error] * (fault + 1) // (request.config.getoption("--faults") + 1)
    faulty = Faulty(tmp_path_factory.mktemp("faults") / "shim", trial.folder)
    usual = dict(trial.env)
    trial.env = usual | faulty.failing(number, error)
    status, out = trial.run("--bench", "First|Second")
    assert faulty.counted() >= number
    assert status in (1, 2) and "Traceback" not in out, (number, out)
    assert FULL[fault % 2] in out, (number, out)
    trial.wait_for_the_end()
    trial.env = usual
    status, out = trial.run("--bench", "First|Second")
    assert status == 0, (number, out)
    rows = polars.read_parquet(trial.folder / "result" / "results.parquet")
    assert rows["status"].to_list() == ["ok"] * 4 and rows["step_s"].null_count() == 0, number
