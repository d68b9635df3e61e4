"""progress.csv: gone on with, also where an earlier version wrote it with fewer columns."""

import csv

from settled import settled

from cputrain.record.plan import TrainingPlan
from cputrain.worker.training.causes import Counters
from cputrain.worker.training.drift import BLOCKS, StepTime
from cputrain.worker.training.table import COLUMNS, Row, Table
from cputrain.worker.training.telling import Telling

OLD = "step,loss,validation_loss,learning_rate,step_s,tokens_per_s,mfu,at"


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_a_table_without_the_newer_columns_is_gone_on_with(tmp_path):
    path = tmp_path / "progress.csv"
    lines = [f"{step},4.5,,0.001,0.5,512.0,,2026-11-22T10:00:00+00:00" for step in (1, 2, 3)]
    path.write_text("\n".join([OLD, *lines]) + "\n4,4.5,,0.0")
    table = Table(path, done=2)
    assert table.training_s == 1.0 and table.added_s == 0.0
    table.add(Row(3, 4.0, 0.001, 0.25, 512.0, None, 4.2, accuracy=0.5, node_accuracy=0.25))
    table.flush()
    assert table.training_s == 1.25 and table.added_s == 0.25
    kept = rows(path)
    assert [row["step"] for row in kept] == ["1", "2", "3"]
    assert list(kept[0]) == list(COLUMNS)
    assert kept[0]["accuracy"] == "" and kept[0]["at"].startswith("2026")
    assert (kept[2]["accuracy"], kept[2]["node_accuracy"]) == ("0.5", "0.25")
    again = Table(path, done=3)
    assert again.training_s == 1.25 and rows(path) == kept


def test_a_window_of_the_watch_ends_with_a_step_that_says_where_the_cpus_were(tmp_path):
    table, seen = Table(tmp_path / "progress.csv", done=0), []
    plan = TrainingPlan(steps=100)
    telling = Telling(settled(), plan, feed=None, table=table, say=seen.append)
    watch = StepTime(seen.append, lambda: Counters(5.0, round_trip_ns=57.5, at_once=1.25))
    for step in range(1, 2 * BLOCKS + 2):
        telling.stepped(step, 4.0, 0.001, 1.0)
        if (counted := watch.stepped(step, 1.0)) is not None:
            telling.placed(counted)
    telling.tell(is_last=True)
    told = {
        row["step"]: (row["round_trip_ns"], row["at_once"])
        for row in rows(tmp_path / "progress.csv")
    }
    ends = {str(1 + BLOCKS), str(1 + 2 * BLOCKS)}
    assert {step for step, place in told.items() if place == ("57.5", "1.25")} == ends
    assert {place for step, place in told.items() if step not in ends} == {("", "")}
