import pytest
from made_feeds import ROWS, keep

from cputrain.data import corpus


@pytest.fixture
def small(tmp_path):
    """A data folder with the corpus of ROWS."""
    keep(tmp_path, ROWS)
    return tmp_path


@pytest.fixture(scope="session")
def text_root(tmp_path_factory):
    """A data folder with the built-in corpus; what tests make of it stays for the others."""
    root = tmp_path_factory.mktemp("data")
    corpus.load(root, offline=True)
    return root
