"""What is done around every measurement."""

import pytest

from cputrain.commands.sessions import without_models
from cputrain.sweep import driver, prepare, stopping
from cputrain.sweep.progress import Progress

pytestmark = pytest.mark.tools


class Measured:
    """A measurement that takes no time."""

    def __init__(self, has_mfu):
        self.has_mfu, self.progress = has_mfu, Progress()

    def choose(self):
        return []

    def begin(self, session):
        self.session = session

    def measure(self, asv):
        pass

    def end(self):
        pass


@pytest.mark.parametrize(
    ("has_mfu", "mode", "again"), [(True, "full", 1), (False, "full", 0), (True, "quick", 0)]
)
def test_the_peak_is_measured_once_more_where_tables_divide_by_it(
    own_root, monkeypatch, has_mfu, mode, again
):
    monkeypatch.setenv("HOME", str(own_root))  # asv's list of machines
    measured = []
    monkeypatch.setattr(prepare, "everything", lambda *_: None)
    monkeypatch.setattr(prepare, "measure_peak", lambda *_, again: measured.append(again))
    monkeypatch.setattr(stopping, "install", lambda _: None)  # pytest's own signals
    assert driver.drive(Measured(has_mfu), without_models(True, mode)) == 0
    assert measured == [True] * again
