"""The last lines of a run: what its time went to, what it has right, and what others published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cputrain.experiment import Experiment
from cputrain.experiment.presets import PRESETS
from cputrain.experiment.published import PublishedFigure, Range
from cputrain.record.trained import Stretch, TrainRecord
from cputrain.report import train, words
from cputrain.wording import counted

SPLIT: Mapping[str, Sequence[str]] = {
    "imports": ("start_s", "import_s"),
    "data": ("data_s",),
    "initialisation": ("build_s", "resume_s"),
    "steps": ("steps_s",),
    "evaluation": ("evaluation_s",),
    "saving": ("saving_s",),
}
"""What the time of a run goes to, and which phases that is; a library's build is of the imports."""
BUILT = "_build_s"
REST = "the rest"
BESIDE = ("data", "initialisation")
"""What sources of presets tell beside their steps."""
LOADED = {"loader": "memory", "loader_workers": 0, "micro_batches": None}
FREE = ("learning_rate", "lr_warmup_steps", "seed", "rows", *LOADED)
"""Fields of training that may be others than a preset's: a step's work is the same."""


def lines(record: TrainRecord) -> list[str]:
    """The lines of a run that came to its end; see above. What is not known has no line."""
    return [line for line in (_split(record), _right(record), *_published(record)) if line]


def split(stretches: Sequence[Stretch]) -> dict[str, float]:
    """Seconds by what they went to, of the stretches that told their phases; empty if none did."""
    timed = [stretch for stretch in stretches if stretch.phases]
    if not timed:
        return {}
    sums = dict.fromkeys(SPLIT, 0.0)
    for stretch in timed:
        for what, names in SPLIT.items():
            sums[what] += sum(stretch.phases.get(name, 0.0) for name in names)
        sums["imports"] += sum(s for name, s in stretch.phases.items() if name.endswith(BUILT))
    wall_s = sum(stretch.wall_s for stretch in timed)
    return sums | {REST: max(0.0, wall_s - sum(sums.values()))}


def _split(record: TrainRecord) -> str:
    seconds = split(record.stretches)
    if not seconds:
        return ""
    missing = sum(not stretch.phases for stretch in record.stretches)
    without = f" (without {counted(missing, 'stretch', 'stretches')} cut short)" if missing else ""
    each = ", ".join(f"{name} {words.took(s)}" for name, s in seconds.items())
    return f"time{without}: {each}"


def _right(record: TrainRecord) -> str:
    its = record.ended
    return train.accuracy(its.accuracy) if its is not None and its.accuracy else ""


def preset(experiment: Experiment) -> str | None:
    """The preset that does the work of a settled experiment, on whatever engine; None if none."""
    for name, known in PRESETS.items():
        model = known.experiment.to_json()["model"]
        training = known.experiment.but(**LOADED).to_json()["training"]
        its = experiment.to_json()
        fields = {field: v for field, v in training.items() if field not in FREE}
        same_work = all(value in (None, its["training"][f]) for f, value in fields.items())
        if same_work and all(value in (None, its["model"][f]) for f, value in model.items()):
            return name
    return None


def _published(record: TrainRecord) -> list[str]:
    """What the source of a preset says of its own run, and the same of this one."""
    experiment = Experiment.from_json(record.worker.experiment)
    name, ended = preset(experiment), record.ended
    if name is None or not PRESETS[name].figures or ended is None or not ended.step:
        return []
    published = [_theirs(name, figure) for figure in PRESETS[name].figures]
    seconds = split(record.stretches)
    this_run = f"{words.seconds(ended.training_s / ended.step)} per step"
    if seconds:
        this_run += "".join(f", {what} {words.took(seconds[what])}" for what in BESIDE)
    data = record.worker.data
    if data is not None and data.prepared_s:
        this_run += f", tokenizing {words.took(data.prepared_s)} when it was done"
    if ended.peak_rss_bytes:
        this_run += f", {words.number(ended.peak_rss_bytes / 1e9)} GB"
    return [*published, f"this run: {this_run}"]


def _theirs(name: str, figure: PublishedFigure) -> str:
    figures = []
    if figure.step_s:
        how = f" ({figure.how})" if figure.how else ""
        figures.append(f"{_range(figure.step_s)} s per step{how}")
    if figure.data_s:
        figures.append(f"data {_range(figure.data_s)} s")
    if figure.initialisation_s:
        figures.append(f"initialisation {_range(figure.initialisation_s)} s")
    if figure.rss_bytes:
        low, high = figure.rss_bytes
        figures.append(f"{_range((low / 1e9, high / 1e9))} GB")
    what = "published" if figure.is_measured else "expected by its authors"
    where = figure.hardware or "hardware not named"
    return f"{what} of {name}, theirs ({where}): {', '.join(figures) or 'no figure of these'}"


def _range(given: Range) -> str:
    low, high = (f"{float(f'{value:.3g}'):g}" for value in given)
    return low if low == high else f"{low} to {high}"
