"""Where `export-model` writes, and what it says of what it could not write."""

import pytest
from done_runs import done_run

from cputrain.commands import cli
from cputrain.sweep import asvenv
from cputrain.sweep.training import source

pytestmark = pytest.mark.tools


def refused(capsys, *words):
    assert cli.main(["export-model", *words, "--to", "hf"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("bench.py: ") and error.count("\n") == 1
    return error


def test_no_runs_model_is_written_over(own_root, capsys):
    folder, other = done_run(own_root), done_run(own_root, "other")
    link = own_root / "link"
    link.symlink_to(folder)
    (own_root / "moved").mkdir()
    (folder / source.MODEL).rename(own_root / "moved" / source.MODEL)
    (folder / source.MODEL).symlink_to(own_root / "moved" / source.MODEL)
    model = (folder / source.MODEL).read_bytes()
    for out in (folder, other, link, folder / "hf" / "..", own_root / "moved"):
        line = f"--out {out}: a run's own model.safetensors lies there; name another folder"
        assert line in refused(capsys, "mine", "--out", str(out))
    assert "lies there" in refused(capsys, str(folder / source.MODEL), "--out", str(folder))
    assert (folder / source.MODEL).read_bytes() == model


@pytest.mark.parametrize(
    ("script", "status", "line"),
    [
        ("kill -9 $$", 1, "the export failed: killed by SIGKILL; the same command tries again"),
        ("echo 'a: No space left on device' >&2; exit 1", 1, "failed: a: No space left on device;"),
        ("exit 2", 1, "the export failed: no output;"),
        ("echo x >&2; echo 'attention: no place' >&2; exit 2", 2, "bench.py: attention: no place"),
    ],
)
def test_how_its_process_failed_is_told(own_root, monkeypatch, capsys, script, status, line):
    done_run(own_root)
    python = own_root / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(asvenv.Asv, "python", lambda _: python)
    assert cli.main(["export-model", "mine", "--to", "hf"]) == status
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1
