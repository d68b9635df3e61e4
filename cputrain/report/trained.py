"""The training runs of a machine: a row for each, their pictures, what their models wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cputrain.report import train, words
from cputrain.report.trained_plot import Group, groups
from cputrain.results.problem import Problem
from cputrain.results.trained import Run
from cputrain.wording import counted, one_line

HEAD = (
    *("run", "engine", "model", "state", "steps", "tokens", "validation loss", "lowest (step)"),
    *("in steps", "wall", "projected", "took"),
)
TEXTS = ("run", "engine", "model", "state", "validation loss", "projected", "took")
"""Columns that are no numbers."""
KILLED = "killed"
"""What is said of a stretch that is over and never told how it ended."""
MOST_LINES, LONGEST_LINE = 60, 400
"""Of a run's samples that are shown."""


@dataclass(frozen=True)
class TrainedRuns:
    """What is said of a machine's runs.

    Attributes:
        runs: the newest first.
        problems: files of runs that could not be used.
    """

    runs: Sequence[Run] = ()
    problems: Sequence[Problem] = ()

    @cached_property
    def groups(self) -> list[Group]:
        """Those that share a picture."""
        return groups(self.runs)

    @property
    def rows(self) -> list[list[str]]:
        """A row of texts for each, in the order of `HEAD`."""
        return [row(run) for run in self.runs]

    @property
    def line(self) -> str:
        """The one line of the first screen: "3 training runs: 2 done, 1 stopped"."""
        states = Counter(state(run) for run in self.runs)
        each = ", ".join(f"{count} {name}" for name, count in states.items())
        return f"{counted(len(self.runs), 'training run')}: {each}"

    @property
    def unread(self) -> str:
        """One line on what could not be used; empty where all could."""
        if not self.problems:
            return ""
        files = ", ".join("/".join(p.path.parts[-2:]) for p in self.problems)
        return f"Not used, for reasons that the page of all machines gives: {files}."

    @property
    def sampled(self) -> list[tuple[str, list[str]]]:
        """By run, lines of what its model wrote."""
        return [(run.name, samples(run.samples)) for run in self.runs if run.samples.strip()]


def row(run: Run) -> list[str]:
    """A run's texts, in the order of `HEAD`."""
    training = run.experiment.training
    return [
        run.name,
        run.engine,
        _model(run),
        _state(run),
        f"{words.whole(run.steps)} / {words.whole(run.record.plan.steps)}",
        words.whole(run.steps * training.tokens_per_step),
        _loss(run),
        f"{run.best.loss:.4f} ({words.whole(run.best.step)})" if run.best else "",
        words.took(run.training_s),
        words.took(run.wall_s),
        *_projected(run),
    ]


def _model(run: Run) -> str:
    """ "gpt 2 x 128, 3.30 M, seq 256": layers, width, parameters, tokens; its start."""
    model, training = run.experiment.model, run.experiment.training
    counts = run.record.worker.counts
    parameters = f", {words.parameters(counts.n_params)}" if counts else ""
    sizes = f"{model.architecture} {model.n_layer} x {model.n_embd}"
    start = run.record.plan.start
    tuned = f"; {training.fine_tuning} on {start.name}" if start else ""
    return f"{sizes}{parameters}, seq {training.seq_len}{tuned}"


def state(run: Run) -> str:
    """How it stands: done, stopped, failed, running or killed (which look alike), not begun."""
    if not run.record.stretches:
        return "not begun"
    ended = run.record.stretches[-1].ended
    return f"{ended} or {KILLED}" if ended == "running" else ended


def _state(run: Run) -> str:
    stretches = run.record.stretches
    text = state(run)
    if stretches and stretches[-1].reason:
        text += f": {stretches[-1].reason}"
    if len(stretches) < 2:
        return text
    before = Counter(KILLED if s.ended == "running" else s.ended for s in stretches[:-1])
    each = ", ".join(f"{name} {count}x" for name, count in before.items())
    return f"{text}; {each}, resumed {len(stretches) - 1}x"


def _loss(run: Run) -> str:
    if not run.evaluations:
        return ""
    text = f"{run.evaluations[-1].loss:.4f}"
    ended = run.record.ended
    return f"{text} ({train.accuracy(ended.accuracy)})" if ended and ended.accuracy else text


def _projected(run: Run) -> tuple[str, str]:
    """What was projected for its steps, and what they took."""
    known = run.record.beside
    if known is None:
        return "", ""
    projected, verdict = words.took(known.projected_s), ""
    if known.low_s is not None and known.high_s is not None:
        projected += f" [{words.took(known.low_s)}, {words.took(known.high_s)}]"
        inside = known.low_s <= known.actual_s <= known.high_s
        verdict = ", inside" if inside else ", outside"
    ratio = known.actual_s / known.projected_s if known.projected_s else float("nan")
    return projected, f"{words.took(known.actual_s)}, {words.ratio(ratio)}{verdict}"


def samples(text: str) -> list[str]:
    """The lines of a run's samples that are shown, each safe; the last one says of any more."""
    lines = text.splitlines()
    shown = [one_line(line)[:LONGEST_LINE].rstrip() for line in lines[:MOST_LINES]]
    more = len(lines) - len(shown)
    return [*shown, f"... {counted(more, 'more line')} in samples.txt"] if more else shown
