"""What the verb `engines` prints: its plan, a line for each worker, the table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Literal

from rich.table import Table

from cputrain.record.worker import WorkerRecord
from cputrain.report import engines, words
from cputrain.results.columns import Row
from cputrain.run.names import FIRST
from cputrain.sweep import plan
from cputrain.sweep.console import minutes, seconds, shown
from cputrain.sweep.progress import Progress
from cputrain.sweep.side_by_side.lineup import PlannedTurn
from cputrain.sweep.side_by_side.rounds import Lost
from cputrain.wording import counted


class TurnsPrinter:
    """Prints a run.

    Args:
        progress: where to.
        turns: that it has.
    """

    def __init__(self, progress: Progress, turns: Sequence[PlannedTurn]) -> None:
        self.progress, self.total = progress, len(turns)
        self._wide = max((len(turn.cell.name) for turn in turns), default=0)

    def begin(self, machine: str, blocks: Sequence[plan.Planned], rounds: int, seed: int) -> None:
        """What will be done."""
        names = dict.fromkeys(str(cell.values[1]) for block in blocks for cell in block.cells)
        where = dict.fromkeys(_where(cell.values) for block in blocks for cell in block.cells)
        self.progress.say(
            f"{machine}: {', '.join(names)}; each at {', '.join(where)}; "
            f"{counted(self.total, 'fresh worker')} in {counted(rounds, 'round')}, each beside "
            f"{FIRST}, their order by seed {seed}"
        )

    def turn(self, turn: PlannedTurn, worker: WorkerRecord | Lost, left_s: float) -> None:
        """A worker ended."""
        shape, engine, threads = turn.cell.values
        name = f"{shape} {engine} {threads}"
        head = f"{turn.place:>4}/{self.total}  {name:<{self._wide}}"
        if isinstance(worker, Lost):
            self.progress.failed += worker.status != "skipped"
            self.progress.say(f"{head}  {worker.status}: {worker.reason}")
            return
        step_s = statistics.median(worker.step_s)
        ratio = worker.paired_ratio
        over = "       -" if ratio is None else f"{words.ratio(ratio):>8}"
        flag = "  disturbed" if worker.is_disturbed else ""
        left = f"  about {minutes(left_s)} left" if left_s else ""
        self.progress.say(f"{head}  {seconds(step_s):>8} a step  {over}{flag}{left}")

    def table(self, rows: Sequence[Row]) -> None:
        """The result: a table for each shape; below them why a row has no number."""
        self.progress.say(engines.opening(rows))
        for shape, of_shape in engines.shapes(rows):
            table = Table(title=shown(shape), title_justify="left")
            for name in engines.BRIEF:
                is_word = name in ("engine", "verdict")
                justify: Literal["left", "right"] = "left" if is_word else "right"
                table.add_column(shown(name), justify=justify, no_wrap=True)
            for row in of_shape:
                if row["status"] == "ok":
                    table.add_row(*map(shown, engines.brief(row)))
            self.progress.console.print(table)
        lost = [row for row in rows if row["status"] != "ok"]
        for why in dict.fromkeys((row["value"], row["status"], row["reason"]) for row in lost):
            self.progress.say("{}: {}: {}".format(*why))


def _where(values: tuple[Any, ...]) -> str:
    shape, _, threads = values
    return f"{shape} with {counted(threads, 'thread')}"
