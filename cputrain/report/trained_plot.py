"""The pictures of training runs: validation loss over time, a line for each run of one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.report import charts, figure, lettering, ticks, words
from cputrain.report.figure import LEGEND, LEGEND_HIGH, TICK, WIDE, Figure, Line, Mark, Sign
from cputrain.report.picture import COLORS, short
from cputrain.report.plots import LONGEST_NOTE
from cputrain.results.trained import EvaluationRow, Run
from cputrain.wording import counted, one_line

SIGNS: tuple[Sign, ...] = ("dot", "square", "diamond", "left", "right")
"""With six colours, thirty runs have a colour and a sign of their own."""
MOST_LINES, MOST_POINTS, MOST_MARKS = 12, 400, 25
HIGH = 300.0
Y = "validation loss, nats"
UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


@dataclass(frozen=True)
class Group:
    """Runs whose losses can be compared: of one model, evaluated on the same, the newest first.

    Attributes:
        title: the model in a few words.
        data: objective, and what they are trained on.
    """

    title: str
    data: str
    runs: Sequence[Run]

    @property
    def shown(self) -> Sequence[Run]:
        """Those that the picture has room for."""
        return self.runs[:MOST_LINES]

    @property
    def left_out(self) -> str:
        """How many older ones it has no room for; empty where there are none."""
        more = len(self.runs) - len(self.shown)
        return f"{counted(more, 'older run')} in the table alone" if more else ""


def groups(runs: Sequence[Run]) -> list[Group]:
    """The runs that were evaluated, by parameters, vocabulary, objective, and what is held back.

    That is so many micro-batches of it: with another batch or length they are other sequences.
    """
    by_key: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        counts, data = run.record.worker.counts, run.record.worker.data
        if not run.evaluations or counts is None or data is None:
            continue
        experiment = run.experiment
        model = counts.n_params, experiment.model.vocab_size, experiment.training.objective
        training, plan = experiment.training, run.record.plan
        held_back = data.fingerprint, data.tokenizer, training.seed, plan.validation_share
        cut = training.packing, training.batch_size, training.seq_len, plan.validation_batches
        by_key.setdefault((*model, *held_back, *cut), []).append(run)
    shared = []
    for (parameters, vocabulary, objective, *_), alike in by_key.items():
        assert isinstance(parameters, int) and isinstance(vocabulary, int)
        title = f"{words.parameters(parameters)} parameters, vocabulary {vocabulary}"
        data = alike[0].record.worker.data
        assert data is not None
        training = alike[0].experiment.training
        shape = f"batch {training.batch_size} x {training.seq_len}"
        shared.append(Group(title, f"{objective} on {data.source}, {shape}", alike))
    return shared


def address(machine: str, group: Group) -> str:
    """The picture as the address of an image, which a page needs no file for."""
    return figure.address(draw(machine, group))


def draw(machine: str, group: Group) -> Figure:
    """What stands where in the picture."""
    points = [point for run in group.shown for point in run.evaluations]
    size, unit = next((u for u in UNITS if points and _last(group) >= 2 * u[0]), UNITS[-1])
    names = [Line(_name(run), *_style(i)[:1], (), _style(i)[1]) for i, run in _numbered(group)]
    up = charts.around([point.loss for point in points], 0.0, 1.0, is_log=False)
    beside = ticks.of_time(_placed(up, HIGH, 0.0), _say, is_upright=True)
    left = round(34 + max(lettering.width(tick.label, TICK) for tick in beside), 1)
    right = WIDE - 14
    rows = figure.legend(names, left, right)
    top = float(rows[-1][0][1] - LEGEND + LEGEND_HIGH + 46)
    bottom = top + HIGH
    up = _placed(up, bottom, top)
    across = charts.Scale(0.0, 1.04 * _last(group) / size, left, right, is_log=False)
    lines, marks = [], []
    for (_, run), line in zip(_numbered(group), names, strict=True):
        path = [(across.place(p.seconds / size), up.place(p.loss)) for p in _thin(run, MOST_POINTS)]
        lines.append(Line(line.name, line.color, path, line.sign))
        marks += [
            Mark(across.place(p.seconds / size), up.place(p.loss), line.sign, line.color)
            for p in _thin(run, MOST_MARKS)
        ]
    notes = [note for note in (one_line(group.data)[:LONGEST_NOTE], group.left_out) if note]
    return Figure(
        title=short(group.title),
        machine=short(machine),
        description=description(group),
        height=round(bottom + 48 + 14 * len(notes), 1),
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        x=f"time in steps, {unit}",
        y=Y,
        x_ticks=ticks.of_time(across, _say, is_upright=False),
        y_ticks=ticks.of_time(up, _say, is_upright=True),
        is_upright=True,
        lines=lines,
        marks=marks,
        notes=notes,
    )


def description(group: Group) -> str:
    """The picture in words, for those who do not see it."""
    each = "; ".join(_run_text(run) for run in group.shown)
    return f"{Y}, against the time in steps. {each}"


def _run_text(run: Run) -> str:
    first, last, best = run.evaluations[0], run.evaluations[-1], run.best
    assert best is not None
    text = f"{_name(run)}: {first.loss:.4f} after {words.took(first.seconds)}"
    if last is not first:
        text += f", {last.loss:.4f} after {words.took(last.seconds)}"
    if best not in (first, last):
        text += f", lowest {best.loss:.4f} after {words.took(best.seconds)}"
    return text


def _numbered(group: Group) -> list[tuple[int, Run]]:
    return list(enumerate(group.shown))


def _style(number: int) -> tuple[str, Sign]:
    return COLORS[number % len(COLORS)], SIGNS[number % len(SIGNS)]


def _name(run: Run) -> str:
    return f"{short(run.name)}, {run.engine}"


def _last(group: Group) -> float:
    return max(run.evaluations[-1].seconds for run in group.shown)


def _placed(scale: charts.Scale, start: float, end: float) -> charts.Scale:
    return charts.Scale(scale.low, scale.high, start, end, is_log=False)


def _thin(run: Run, most: int) -> Sequence[EvaluationRow]:
    """As many evaluations at most, evenly, the first and the last among them."""
    evaluations = run.evaluations
    if len(evaluations) <= most:
        return evaluations
    last = len(evaluations) - 1
    return [evaluations[round(i * last / (most - 1))] for i in range(most)]


def _say(value: float) -> str:
    return f"{value:.4g}"
