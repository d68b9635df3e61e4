"""progress.csv: gone on with, also where an earlier version wrote it with fewer columns."""

import csv

from cputrain.worker.training.table import COLUMNS, Row, Table

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
