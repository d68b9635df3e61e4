"""What a run is trained on: the corpus, or somebody's own files."""

from __future__ import annotations

from pathlib import Path

from cputrain.data.prepared import prepare
from cputrain.experiment import Experiment
from cputrain.record.plan import TrainingPlan
from cputrain.worker.training.split import Split


def opened(experiment: Experiment, plan: TrainingPlan, root: Path, offline: bool) -> Split:
    """Both feeds; what is not kept under `root` yet is made first.

    Args:
        experiment: data in memory.
        plan: names the files, where there are some.
        root: the data folder.
        offline: download nothing.

    Raises:
        DataError: data that cannot be used.
    """
    return Split(experiment, prepare(experiment, root, offline=offline), plan)
