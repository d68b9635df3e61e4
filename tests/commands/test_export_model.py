"""Where `export-model` writes, and what it says of what it could not write."""

import pytest
from done_runs import done_run

from cputrain.commands import cli
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
