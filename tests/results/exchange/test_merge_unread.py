"""Folders of a source that may not be read: it is refused, and the other sources are taken."""

import errno
import os

import pytest
from made_packs import packed

from cputrain.results.exchange import merged

pytestmark = pytest.mark.tools


@pytest.mark.parametrize("inner", ["output", "output/here", "output/here/SeqLen"])
def test_a_folder_that_cannot_be_read_keeps_no_other_source_out(
    sweep, tmp_path_factory, monkeypatch, inner
):
    clone, sent = (tmp_path_factory.mktemp(name) for name in ("clone", "sent"))
    monkeypatch.setenv("HOME", str(sent))
    path, locked, scan = packed(sweep, sent), str(sweep.root / inner), os.scandir

    def refuse(where):
        if str(where) == locked:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), locked)
        return scan(where)

    monkeypatch.setattr(os, "scandir", refuse)
    refused, taken = merged.merge(clone, [sweep.root, path])
    (line,) = refused.refused
    assert refused.machine is None and line.endswith(f"{inner}: Permission denied")
    assert (taken.machine, taken.added) == ("here", 18)


def test_what_cannot_be_written_here_is_no_source_s_fault(sweep, tmp_path_factory, monkeypatch):
    clone, sent = (tmp_path_factory.mktemp(name) for name in ("clone", "sent"))
    monkeypatch.setenv("HOME", str(sent))
    (clone / "output").write_text("no folder")
    with pytest.raises(OSError, match="output"):
        merged.merge(clone, [packed(sweep, sent)])
