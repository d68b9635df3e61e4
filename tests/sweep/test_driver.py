"""What is done around every measurement."""

import pytest

from cputrain.commands.sessions import without_models
from cputrain.sweep import driver, prepare, stopping
from cputrain.sweep.claims.verb import Claims
from cputrain.sweep.parts.verb import Parts
from cputrain.sweep.progress import Progress
from cputrain.sweep.projection import Project
from cputrain.sweep.releases.verb import Releases
from cputrain.sweep.side_by_side.verb import SideBySide
from cputrain.sweep.suites import Sweep
from cputrain.sweep.training.verb import TrainingRun
from cputrain.sweep.tuning.verb import Tune

pytestmark = pytest.mark.tools


class Measured:
    """A measurement that takes no time."""

    def __init__(self, uses_peak):
        self.uses_peak, self.progress = uses_peak, Progress()

    def choose(self):
        return []

    def begin(self, session):
        self.session = session

    def measure(self, asv):
        pass

    def end(self):
        pass


def test_what_shows_rates_over_the_peak_uses_it():
    assert Sweep.uses_peak and SideBySide.uses_peak and TrainingRun.uses_peak and Parts.uses_peak
    assert not (Tune.uses_peak or Project.uses_peak or Claims.uses_peak or Releases.uses_peak)


@pytest.mark.parametrize(
    ("uses_peak", "mode", "again"), [(True, "full", 1), (False, "full", 0), (True, "quick", 0)]
)
def test_the_peak_is_measured_once_more_where_tables_divide_by_it(
    own_root, monkeypatch, uses_peak, mode, again
):
    monkeypatch.setenv("HOME", str(own_root))  # asv's list of machines
    measured = []
    monkeypatch.setattr(prepare, "everything", lambda *_: None)
    monkeypatch.setattr(prepare, "measure_peak", lambda *_, again: measured.append(again))
    monkeypatch.setattr(stopping, "install", lambda _: None)  # pytest's own signals
    assert driver.drive(Measured(uses_peak), without_models(True, mode)) == 0
    assert measured == [True] * again
