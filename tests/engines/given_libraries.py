"""The libraries that multiply, as a worker is given them; a test skips where one is missing."""

import pytest

from cputrain.engines.blas import KINDS
from cputrain.knobs.matmul import MKL_LAYERS, VARIABLE
from cputrain.machine import library_search

NAMES = ("openblas", "mkl", "onednn")


def path(name):
    try:
        return str(library_search.find(name))
    except library_search.Missing as missing:
        pytest.skip(str(missing))


def give(monkeypatch, name):
    """The environment that names it."""
    monkeypatch.setenv(VARIABLE, path(name))
    for variable, value in MKL_LAYERS.items():
        monkeypatch.setenv(variable, value)


def load(monkeypatch, name):
    give(monkeypatch, name)
    return KINDS[name](path(name))
