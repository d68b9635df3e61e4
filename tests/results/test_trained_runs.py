"""The runs of `train` on a machine's pages: rows, curves, samples, and files that are none."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from made_runs import HEAD, keep, record
from msgspec import structs
from settled import settled

from cputrain.record.plan import Start
from cputrain.record.trained import Beside, Stretch
from cputrain.report import trained_page, trained_plot
from cputrain.report.export import export
from cputrain.results import trained

pytestmark = pytest.mark.tools

NUMPY = settled(n_layer=2, engine="numpy", attention_backend="manual")
EVIL = "<script>alert(1)</script>\n| a [b](c) `d`\n\n    indented\n\x1b[31mred"


def page(root, machine="here"):
    export(root)
    return (root / "result" / machine / trained_page.PAGE).read_text()


def rows(text):
    """By run, its row as cells by name."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head, _, *others = [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines]
    return {row[0]: dict(zip(head, row, strict=True)) for row in others}


def test_each_run_has_a_row_with_what_it_did_and_what_was_projected(tmp_path):
    known = Beside(session="a", projected_s=9.0, low_s=8.5, high_s=11.0, actual_s=10.0)
    keep(tmp_path, record("night", beside=known))
    row = rows(page(tmp_path))["night"]
    assert row["engine"] == "torch" and row["state"] == "done"
    assert row["model"] == "gpt 2 x 256, 3.30 M, seq 256"
    assert row["steps"] == "100 / 100" and row["tokens"] == "25 600"
    assert row["validation loss"] == "3.1000" and row["lowest (step)"] == "3.0000 (50)"
    assert (row["in steps"], row["wall"]) == ("10 s", "20 s")
    assert row["projected"] == "9.0 s \\[8.5 s, 11 s\\]"
    assert row["took"] == "10 s, 1.11x, inside"


def test_a_run_that_fine_tunes_names_the_model_it_started_from(tmp_path):
    start = Start(name="night", file="model.safetensors", sha256="a", tokenizer="b")
    kept = record("letters", settled(n_layer=2, fine_tuning="lora"))
    keep(tmp_path, structs.replace(kept, plan=structs.replace(kept.plan, start=start)))
    assert rows(page(tmp_path))["letters"]["model"].endswith("seq 256; lora on night")


def test_a_run_says_how_often_it_ended_and_why(tmp_path):
    stretches = [
        Stretch(started="2026-11-22T10:00:00+00:00", done=0, last=30, ended="stopped"),
        Stretch(started="2026-11-22T11:00:00+00:00", done=30, last=50),
        Stretch(started="2026-11-22T12:00:00+00:00", done=50, last=60, ended="failed",
                reason="the loss of step 61 is nan"),
    ]  # fmt: skip
    keep(tmp_path, record("hard", stretches=stretches, ended=None))
    keep(tmp_path, record("now", stretches=stretches[1:2], ended=None))
    told = rows(page(tmp_path))
    assert told["hard"]["state"] == (
        "failed: the loss of step 61 is nan; stopped 1x, killed 1x, resumed 2x"
    )
    assert told["now"]["state"] == "running or killed"


def test_runs_of_one_model_and_data_share_a_picture_and_others_do_not(tmp_path):
    keep(tmp_path, record("a"))
    keep(tmp_path, record("b", NUMPY), losses={10: 5.5, 100: 4.0})
    wide = record("wide")
    counts = structs.replace(wide.worker.counts, n_params=9_000_000)
    keep(tmp_path, structs.replace(wide, worker=wide.worker.but(counts=counts)))
    other = record("other")
    data = structs.replace(other.worker.data, fingerprint="cd" * 32)
    keep(tmp_path, structs.replace(other, worker=other.worker.but(data=data)))
    keep(tmp_path, record("batch", settled(n_layer=2, batch_size=8)))  # evaluated on more of it
    runs, problems = trained.read(tmp_path, "here")
    assert not problems
    names = [sorted(run.name for run in group.runs) for group in trained_plot.groups(runs)]
    assert sorted(names) == [["a", "b"], ["batch"], ["other"], ["wide"]]
    text = page(tmp_path)
    pictures = re.findall(r"\]\((plots/[^)]*)\)", text)
    assert len(pictures) == 4
    (both,) = [group for group in trained_plot.groups(runs) if len(group.runs) == 2]
    drawn = trained_plot.draw("here", both)
    assert {line.name for line in drawn.lines} == {"a, torch", "b, numpy"}
    assert len({(line.color, line.sign) for line in drawn.lines}) == 2
    assert "a, torch: 5.0000 after 1.0 s, 3.1000 after 10 s, lowest 3.0000" in drawn.description
    for picture in pictures:
        ElementTree.parse(tmp_path / "result" / "here" / picture)


def test_many_runs_and_many_evaluations_stay_within_the_picture(tmp_path):
    losses = {step: 5.0 - step / 50 for step in range(1, 101)}
    for number in range(14):
        keep(tmp_path, record(f"a-long-name-of-a-run-{number:02}"), losses=losses)
    runs, _ = trained.read(tmp_path, "here")
    (group,) = trained_plot.groups(runs)
    drawn = trained_plot.draw("here", group)
    assert len(drawn.lines) == trained_plot.MOST_LINES and "2 older runs" in drawn.notes[-1]
    assert len(drawn.marks) == trained_plot.MOST_LINES * trained_plot.MOST_MARKS
    for (x, y), line in drawn.legend:
        assert drawn.left <= x and y < drawn.top - 8, line.name
    assert len({y for (_, y), _ in drawn.legend}) > 1
    for line in drawn.lines:
        assert all(drawn.left <= x <= drawn.right for x, _ in line.points)
        assert all(drawn.top <= y <= drawn.bottom for _, y in line.points)


@pytest.mark.parametrize("how", ["cut off", "of another machine", "of another name", "a link"])
def test_a_record_that_is_none_is_named_and_the_rest_is_made(tmp_path, how):
    keep(tmp_path, record("good"))
    path = keep(tmp_path, record("bad")) / "train.json"
    if how == "cut off":
        path.write_text(path.read_text()[:300])
    elif how == "of another machine":
        path.write_text(path.read_text().replace('"machine": "here"', '"machine": "there"'))
    elif how == "of another name":
        path.write_text(path.read_text().replace('"name": "bad"', '"name": "worse"'))
    else:
        path.unlink()
        path.symlink_to(tmp_path / "output" / "here" / "train" / "good" / "train.json")
    summary = export(tmp_path)
    (problem,) = summary.problems
    assert "train/bad/train.json" in str(problem)
    text = (tmp_path / "result" / "here" / "runs.md").read_text()
    assert list(rows(text)) == ["good"] and "Not used" in text and "bad/train.json" in text


@pytest.mark.parametrize(
    "table", ["", "nothing here\n1\n", f"{HEAD}\n1,4.0,x,0.1,y,1,,z\n", f"{HEAD}\n1,4.0,3.0,0.1,"]
)
def test_a_table_of_steps_that_is_none_takes_the_curve_alone(tmp_path, table):
    folder = keep(tmp_path, record("mine"))
    (folder / "progress.csv").write_text(table)
    text = page(tmp_path)
    row = rows(text)["mine"]
    assert "Resolved plan" not in text  # what polars adds for who wrote the query
    assert row["state"] == "done" and row["lowest (step)"] == "" and row["steps"] == "100 / 100"
    assert row["in steps"] == "10 s"


def test_a_last_line_that_is_being_written_is_left_out(tmp_path):
    folder = keep(tmp_path, record("mine"))
    with (folder / "progress.csv").open("a") as file:
        file.write("101,4.0,2.0,0.001,0.")
    assert rows(page(tmp_path))["mine"]["steps"] == "100 / 100"


def test_samples_stand_below_and_are_not_obeyed(tmp_path):
    folder = keep(tmp_path, record("mine"))
    (folder / "samples.txt").write_text(EVIL)
    text = page(tmp_path)
    block = text[text.index("## What mine writes") :].splitlines()[2:]
    assert block[0] == "    <script>alert(1)</script>"  # indented: shown as it is
    assert all(line.startswith("    ") for line in block if line.strip())
    assert "\x1b" not in text
    html = (tmp_path / "result" / "here" / "report.html").read_text()
    assert "alert(1)</script>" not in html and "&lt;script&gt;alert(1)" in html
    (folder / "samples.txt").write_text("line\n" * 5000)
    assert "more lines in samples.txt" in page(tmp_path)


def test_the_report_has_them_and_the_first_screen_one_line(tmp_path):
    keep(tmp_path, record("mine"))
    summary = export(tmp_path)
    html = (tmp_path / "result" / "here" / "report.html").read_text()
    assert '<h2 id="runs">Training runs</h2>' in html and html.count("data:image/svg+xml") == 1
    assert 'alt="validation loss, nats, against the time in steps. mine, torch' in html
    index = (tmp_path / "result" / "README.md").read_text()
    assert index.count("runs.md") == 1 and "[1 training run: 1 done](here/runs.md)" in index
    assert export(tmp_path).made == []
    keep(tmp_path, record("second"))
    assert export(tmp_path).made == ["here"]
    assert summary.machines.keys() == {"here"}


def test_the_page_written_after_a_run_is_the_exports(own_root):
    keep(own_root, record("mine"))
    assert "result/here/runs.md" in trained_page.written("here")
    text = (own_root / "result" / "here" / "runs.md").read_text()
    assert page(own_root) == text


def test_a_machine_without_runs_has_no_page_of_them(sweep):
    export(sweep.root)
    assert not (sweep.root / "result" / "here" / "runs.md").exists()
    assert "runs.md" not in sweep.page()
