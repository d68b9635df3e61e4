"""Nothing of the machine's own libraries."""

import pytest

from cputrain.machine import library_search


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch, tmp_path):
    """No path is given, and neither the stack nor conda has anything."""
    for name in (library_search.VARIABLE, "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(library_search, "prefixes", lambda: (tmp_path / "stack",))


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"
