"""The verb `claims`: the real program and its workers."""

import signal

import pytest

pytestmark = pytest.mark.tools


def test_a_claim_that_is_not_there_is_one_line(trial):
    process = trial.start("claims", "C8", "C99")
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert out.strip() == "bench.py: there is no claim C99; there are C1 to C25"


def test_ctrl_c_keeps_the_pairs_that_are_done_and_export_makes_the_page(trial):
    process = trial.start("claims", "C8", "--offline")
    trial.wait_for("output/*/claims/baseline-relu/run.json", process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGINT
    assert "stopped; the pairs that are done are kept" in out and "Traceback" not in out
    assert trial.processes() == []
    again = trial.start("export")
    told, _ = again.communicate(timeout=120)
    assert again.returncode == 0, told
    (page,) = trial.folder.glob("result/*/claims.md")
    assert "| [C8](#c8) |" in page.read_text()
    assert "time of relu over baseline" in page.read_text()
