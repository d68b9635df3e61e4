"""Records are found packed as well as in files of their own, by all that read them."""

import shutil
import time

import pytest
from made_claims import Made
from made_project import failure, worker

from cputrain.analysis.claims import judge, table
from cputrain.analysis.claims.made import IDENTICAL
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.report.export import export
from cputrain.results import packed, parts, records, rows, stored
from cputrain.sweep.durations import Durations

pytestmark = pytest.mark.tools

USUAL = Experiment()


def pack(root, machine="here"):
    """Put all records of a machine into its packed file, and away from their own."""
    gathered = stored.gather(root, machine)
    folder = root / "output" / machine
    packed.write(folder / packed.FILE, gathered.records)
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    return gathered


def told(project):
    """All that an export says, but for when."""
    summary = export(project.root)
    result = project.root / "result"
    pages = {
        path.relative_to(result): path.read_text()
        for path in sorted(result.rglob("*"))
        if path.suffix in (".md", ".csv")
    }
    return summary.rows, [problem.reason for problem in summary.problems], pages


def test_the_tables_are_the_same_of_packed_records(sweep):
    sweep.cell("Depth", 2, 0.03, USUAL.but(n_layer=2), mode="quick")
    loose = told(sweep)
    assert pack(sweep.root).problems == ()
    assert told(sweep) == loose and len(loose[0]) > 15


def test_the_claims_are_judged_by_packed_records(tmp_path):
    made = Made(tmp_path)
    made.cell(IDENTICAL[0], 1.0)
    made.cell(next(p for p in table.pairs(table.chosen([])) if p.beside == "mlm-80m"), 0.25)
    demonstration = next(c.demonstration for c in table.CLAIMS.values() if c.demonstration)
    made.demonstration(demonstration, 0.5, 1.0)
    loose = judge.judge(tmp_path, "here")
    pack(tmp_path)
    again = judge.judge(tmp_path, "here")
    assert again.verdicts == loose.verdicts and again.problems == loose.problems == []
    assert {name: stored.find(tmp_path, "here", name) != [] for name in packed.NAMES} == {
        "run.json": True, "references.json": True, "parts.json": False, "altered.json": True,
    }  # fmt: skip


def test_a_record_of_its_own_wins_over_a_packed_one(project):
    project.record("SeqLen", 128, [worker(USUAL, [[1.0]])])
    project.record("SeqLen", 256, [worker(USUAL, [[2.0]])])
    pack(project.root)
    project.record("SeqLen", 128, [worker(USUAL, [[3.0]])])
    cells, problems = rows.read(project.root, "here")
    assert {cell.value: cell.step_s for cell in cells} == {"128": 3.0, "256": 2.0}
    assert problems == []
    assert records.machines(project.root) == (["here"], [])


def test_a_broken_record_of_its_own_is_said_and_nothing_is_in_its_place(project):
    path = project.record("SeqLen", 128, [worker(USUAL, [[1.0]])])
    pack(project.root)
    path.parent.mkdir(parents=True)
    path.write_text("{")
    ((cell,), (problem,)) = rows.read(project.root, "here")
    assert cell.status == "failed" and problem.path == path


def test_what_is_packed_of_a_machine_under_another_name_is_refused(project):
    project.record("SeqLen", 128, [worker(USUAL, [[1.0]])], machine="there")
    pack(project.root, "there")
    (project.root / "output" / "there").rename(project.root / "output" / "here")
    ((cell,), (problem,)) = rows.read(project.root, "here")
    assert cell.status == "failed" and problem.path.name == packed.FILE
    assert problem.reason.startswith("SeqLen/128/run.json in it: it is of 'there'")


def test_a_packed_record_of_another_cell_is_refused(project):
    path = project.record("SeqLen", 128, [worker(USUAL, [[1.0]])])
    pack_of = project.root / "output" / "here" / packed.FILE
    packed.write(pack_of, {"SeqLen/256/run.json": path.read_bytes()})
    shutil.rmtree(path.parent)
    (_, (problem,)) = rows.read(project.root, "here")
    assert "it is of '128' and lies in the folder of '256'" in problem.reason


def test_a_truncated_file_is_one_line_and_the_other_records_are_told(sweep):
    pack(sweep.root)
    sweep.record("SeqLen", 128, [worker(USUAL.but(seq_len=128), [[0.024]])])
    path = sweep.root / "output" / "here" / packed.FILE
    path.write_bytes(path.read_bytes()[:-30])
    summary = export(sweep.root)
    (problem,) = [p for p in summary.problems if p.path.name == packed.FILE]
    assert str(problem).startswith("output/here/records.jsonl.gz: cut off; what lies before")
    assert len(summary.rows) >= 15
    assert "records.jsonl.gz" in sweep.page()


def test_what_cannot_be_packed_is_a_problem_and_the_rest_is(project):
    good = project.record("SeqLen", 128, [failure(USUAL, "timed out", "300 s")])
    bad = project.record("SeqLen", 256, [worker(USUAL, [[2.0]])])
    bad.write_text('{"a": NaN}')
    link = good.with_name("references.json")
    link.symlink_to(good)
    pack = stored.gather(project.root, "here")
    assert list(pack.records) == ["SeqLen/128/run.json"]
    assert {problem.path for problem in pack.problems} == {bad, link}


def test_a_link_in_the_place_of_a_machine_is_not_followed(project, tmp_path_factory):
    project.record("SeqLen", 128, [worker(USUAL, [[1.0]])])
    pack(project.root)
    folder = project.root / "output" / "here"
    moved = tmp_path_factory.mktemp("away") / "here"
    folder.rename(moved)
    folder.symlink_to(moved)
    assert stored.find(project.root, "here", records.FILE) == []
    assert stored.problems(project.root, "here") == ()
    assert stored.gather(project.root, "here") == packed.Pack()
    assert records.machines(project.root) == ([], [])


def test_how_long_cells_take_is_told_by_packed_records(project):
    project.record("SeqLen", 128, [worker(USUAL, [[1.0]], forked=True)])
    pack(project.root)
    known = Durations(stored.find(project.root, "here", records.FILE))
    assert not known.is_guess and Durations([]).is_guess


def test_the_report_leads_to_the_packed_file(sweep):
    pack(sweep.root)
    export(sweep.root)
    folder = sweep.root / "result" / "here"
    text = (folder / "report.html").read_text()
    assert "run.json</a>" in text and '/run.json"' not in text
    assert (folder / "../../output/here/records.jsonl.gz").resolve().is_file()
    assert "../../output/here/records.jsonl.gz" in text


def test_three_hundred_records_are_read_at_once(project):
    """Against the time that the same JSON takes to be decoded, which nothing saves."""
    samples = [[0.04] * 30] * 8
    made = [worker(USUAL, samples, id=str(n), versions={"x": "y" * 400}) for n in range(4)]
    path = project.record("SeqLen", 128, made)
    content = path.read_bytes()
    assert len(content) > 15_000
    packed.write(
        path.parents[2] / packed.FILE, {f"SeqLen/{n}/run.json": content for n in range(300)}
    )
    took = []
    for _ in range(3):
        packed._read.cache_clear()
        start = time.perf_counter()
        pack = packed.read(path.parents[2] / packed.FILE)
        middle = time.perf_counter()
        for record in pack.records.values():
            files.decode(record, CellRecord, SCHEMA)
        took.append((middle - start) / (time.perf_counter() - middle))
    assert len(pack.records) == 300 and min(took) < 3


def test_steps_watched_part_by_part_are_found_packed(tmp_path):
    content = b'{"schema":1,"shape":"Framework","engine":"jax","worker":{}}'
    packed.write(
        tmp_path / "output" / "here" / packed.FILE, {"parts/Framework-jax/parts.json": content}
    )
    parts_records, (problem,) = parts.read(tmp_path, "here")
    assert parts_records == [] and "parts/Framework-jax/parts.json in it: not a" in problem.reason
