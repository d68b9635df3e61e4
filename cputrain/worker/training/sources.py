"""What a run is trained on: the corpus, or somebody's own files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cputrain.data.prepared import Prepared, prepare
from cputrain.experiment import Experiment
from cputrain.record.plan import TrainingPlan
from cputrain.worker.training.split import Split, split


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
    training, share = experiment.training, plan.validation_share
    if plan.files:
        from cputrain.worker.training import on_disk

        size = experiment.model.vocab_size - training.is_masked
        train, rest, facts = on_disk.kept(plan.files, size, share, training.seed, root)
        whole = Prepared(train, None, None, root)
        counts = facts["documents"]
    else:
        whole = prepare(experiment, root, offline=offline)
        train, rest = split(whole.tokens, share, training.seed)
        counts = [int((part.ids == part.end).sum()) for part in (train, rest)]
    tokens = train.fingerprint, train.tokenizer, f"{counts[0]}+{counts[1]}", f"seed {training.seed}"
    return Split(
        experiment,
        plan,
        replace(whole, tokens=train),
        replace(whole, tokens=rest),
        " ".join(tokens),
        f"{counts[0]} documents to train on, {counts[1]} to validate",
    )
