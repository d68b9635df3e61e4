"""A sweep in whose middle the machine's clock is set back by an hour."""

import re
import shutil
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import polars
import pytest

pytestmark = pytest.mark.tools

SOURCE = Path(__file__).parent.parent / "clock_back.c"


def test_every_cell_is_measured_and_no_time_is_negative(trial, tmp_path_factory):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    place = tmp_path_factory.mktemp("clock")
    library, switch = place / "clock.so", place / "back"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    trial.env |= {"LD_PRELOAD": str(library), "CLOCK_BACK": str(switch)}
    process = trial.start("run", "--offline", "--passes", "1", "--bench", "First|Second")
    trial.wait_for("output/*/First/1/run.json", process)
    switch.touch()
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0 and not re.search(r"-\d+ (min|s)\b", out), out
    rows = polars.read_parquet(trial.folder / "result" / "results.parquet")
    assert rows["status"].to_list() == ["ok"] * 4
    first, last = (trial.record(cell)["workers"][-1] for cell in ("First/1", "Second/2"))
    times = [datetime.fromisoformat(worker["started"]) for worker in (first, last)]
    assert times[1] < times[0] - timedelta(minutes=50)
    for worker in (first, last):
        assert 0 <= worker["wall_s"] < 600
