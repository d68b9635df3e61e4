"""Results that come in: all of them arrive, nothing here is overwritten, names stay apart."""

import json
import subprocess
import sys

import pytest
from made_packs import FACTS, changed, everything, packed
from made_project import Project, failure, worker
from roots import take_root
from settled import settled

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine import lock, registry
from cputrain.record import files
from cputrain.record.cell import CellRecord
from cputrain.report.export import export
from cputrain.results import rows
from cputrain.results.exchange import journal, merged
from cputrain.sweep import exporting

pytestmark = [pytest.mark.tools, pytest.mark.usefixtures("no_registry")]


@pytest.fixture
def clone(tmp_path_factory):
    """The project that takes them."""
    return Project(tmp_path_factory.mktemp("clone"))


def merge(clone, *sources):
    return merged.merge(clone.root, sources)


def record(clone, cell, machine="here"):
    (cell_result,) = (c for c in rows.read(clone.root, machine)[0] if c.name == cell)
    return cell_result


def test_a_fresh_clone_says_the_same_as_where_it_was_measured(sent, clone):
    sweep, folder = sent
    (came,) = merge(clone, packed(sweep, folder))
    assert (came.machine, came.added, came.equal, came.refused) == ("here", 18, 0, [])
    assert rows.read(clone.root, "here") == rows.read(sweep.root, "here")
    own, theirs = export(sweep.root), export(clone.root)
    assert own.rows == theirs.rows and theirs.problems == []
    assert (clone.root / "result/here/SeqLen.md").read_bytes() == (
        sweep.root / "result/here/SeqLen.md"
    ).read_bytes()


def test_what_is_here_already_is_skipped_and_nothing_changes(sent, clone):
    sweep, folder = sent
    path = packed(sweep, folder)
    merge(clone, path)
    before = everything(clone.root)
    (came,) = merge(clone, path)
    assert (came.added, came.extended, came.equal, came.others) == (0, 0, 18, 0)
    assert everything(clone.root) == before
    (own,) = merge(sweep, path)  # where it was measured, paths are still in the records
    assert (own.machine, own.added, own.extended, own.refused) == ("here", 0, 0, [])


@pytest.mark.parametrize("is_loose", [False, True])
def test_new_workers_join_those_that_are_here(sent, clone, is_loose):
    sweep, folder = sent
    merge(clone, packed(sweep, folder))
    first = record(clone, "SeqLen/512").workers
    if is_loose:  # as after a run in that clone
        cells = CellRecord(key=record(clone, "SeqLen/512").key, workers=list(first))
        files.write(clone.root / "output/here/SeqLen/512/run.json", cells)
    later = worker(settled().but(seq_len=512), [[0.08]], id="later", session="20270101T000000-1",
                   started="2027-01-01T00:00:00+00:00")  # fmt: skip
    sweep.record("SeqLen", 512, [*first, later])
    (came,) = merge(clone, packed(sweep, folder))
    assert (came.added, came.extended, came.equal, came.refused) == (0, 1, 17, [])
    now = record(clone, "SeqLen/512")
    assert [w.id for w in now.workers] == ["later"] and now.earlier == first
    assert (clone.root / "output/here/SeqLen/512/run.json").exists() == is_loose


def test_what_differs_is_refused_with_a_line_and_what_is_here_stays(sent, clone):
    sweep, folder = sent
    path = packed(sweep, folder)
    merge(clone, path)
    before = everything(clone.root)
    changed(path, "output/SeqLen/512/run.json", lambda text: text.replace("0.08", "0.04"))
    (came,) = merge(clone, path)
    assert came.equal == 18 and everything(clone.root) == before
    assert "SeqLen/512/run.json: worker 0 of session" in came.refused[0]
    assert came.refused[0].endswith("differs from what lies here under the same name; "
                                    "what is here stays")  # fmt: skip


def test_a_worker_that_had_not_ended_gives_way_to_its_own_end(sent, clone):
    sweep, folder = sent
    done = worker(settled(), [[0.04], [0.04]], id="w")
    half = failure(settled(), "unproven", None, id="w")
    sweep.record("Depth", 4, [half])
    merge(clone, packed(sweep, folder))
    sweep.record("Depth", 4, [done])
    (came,) = merge(clone, packed(sweep, folder))
    assert came.extended == 1 and record(clone, "Depth/4").ok
    sweep.record("Depth", 4, [half])
    (came,) = merge(clone, packed(sweep, folder))
    assert came.extended == 0 and len(came.refused) == 1 and record(clone, "Depth/4").ok


def test_another_machine_of_the_same_name_gets_a_suffix_and_keeps_it(sent, clone):
    sweep, folder = sent
    merge(clone, packed(sweep, folder))
    before = everything(clone.root)
    other = packed(sweep, folder)
    changed(other, "asv/machine.json", lambda text: text.replace("AMD EPYC", "Intel Xeon"))
    (came,) = merge(clone, other)
    assert (came.machine, came.given, came.added) == ("here-2", "here", 18)
    assert came.why == "here here has cpu AMD EPYC and not Intel Xeon"
    now = everything(clone.root)
    assert before.items() <= now.items()
    assert all("/here-2/" in name for name in now.keys() - before.keys())
    assert {w.machine for c in rows.read(clone.root, "here-2")[0] for w in c.workers} == {"here-2"}
    summary = export(clone.root)
    assert sorted(summary.machines) == ["here", "here-2"] and summary.problems == []
    (again,) = merge(clone, other)
    assert (again.machine, again.added, again.equal) == ("here-2", 0, 18)


@pytest.mark.parametrize(
    ("fact", "value", "name"),
    [
        ("kernel", "7.0", "here"),
        ("microcode", "0x2", "here"),
        ("memory", "23.1 GiB", "here"),
        ("memory", "47.0 GiB", "here-2"),
        ("cores", "4", "here-2"),
    ],
)
def test_a_new_kernel_or_microcode_is_the_same_machine(sent, clone, fact, value, name):
    sweep, folder = sent
    merge(clone, packed(sweep, folder))
    path = packed(sweep, folder)
    old = f'"{fact}": "{FACTS[fact]}"'
    changed(path, "asv/machine.json", lambda text: text.replace(old, f'"{fact}": "{value}"'))
    assert [came.machine for came in merge(clone, path)] == [name]


def test_a_name_of_asvs_list_stands_for_that_machine(sent, clone, tmp_path, monkeypatch):
    sweep, folder = sent
    listed = tmp_path / ".asv-machine.json"
    listed.write_text(json.dumps({"version": 1, "here": FACTS | {"cpu": "Power9"}}))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [came.machine for came in merge(clone, packed(sweep, folder))] == ["here-2"]


def test_without_facts_workers_tell_whether_it_is_the_same(sweep, clone, tmp_path):
    for machine in (sweep.root / "result").rglob("machine.json"):
        machine.unlink()
    assert [came.machine for came in merge(clone, sweep.root)] == ["here"]
    assert [came.machine for came in merge(clone, sweep.root)] == ["here"]
    other = Project(tmp_path / "other")
    other.record("SeqLen", 128, [worker(settled(), [[0.1]], id="another")])
    (came,) = merge(clone, other.root)
    assert came.machine == "here-2" and "facts of CPU and cores are missing" in came.why


def test_an_export_goes_on_with_a_merge_that_was_killed(sent, clone, monkeypatch):
    sweep, folder = sent
    take_root(monkeypatch, clone.root)

    def killed(*_):
        raise SystemExit

    monkeypatch.setattr(journal, "_move", killed)
    with pytest.raises(SystemExit):
        merge(clone, packed(sweep, folder))
    assert not (clone.root / "output").exists()
    monkeypatch.undo()
    take_root(monkeypatch, clone.root)
    summary = exporting.export()
    assert list(summary.machines) == ["here"] and summary.rows == export(sweep.root).rows
    assert list((clone.root / ".asv/merge").iterdir()) == []


def test_folders_are_taken_as_files_are(sent, clone):
    sweep, _ = sent
    sweep.cell("SeqLen", 128, 0.02, machine="there")
    sweep.save()
    came = merge(clone, sweep.root)
    assert [(its.machine, its.added) for its in came] == [("here", 18), ("there", 1)]
    for part in ("output", "result"):
        again = merge(clone, sweep.root / part)
        assert [(its.added, its.equal) for its in again] == [(0, 18), (0, 1)]
    (came,) = merge(clone, sweep.root / "output" / "here")
    assert came.machine is None and "no records of a machine in it" in came.refused[0]


def test_the_example_is_such_a_folder(clone):
    (came,) = merge(clone, paths.PROJECT / "example")
    assert came.machine and came.added > 100 and came.refused == []
    theirs = (paths.PROJECT / "example/result/results.csv").read_text()
    assert export(clone.root).cells == len(theirs.splitlines()) - 1


def test_one_source_that_cannot_be_used_keeps_none_out(sent, clone):
    sweep, folder = sent
    came = merge(clone, folder / "nothing.gz", folder, packed(sweep, folder))
    assert [its.machine for its in came] == [None, None, "here"]
    assert came[0].refused == ["No such file or directory"]
    assert "no records of a machine in it" in came[1].refused[0]


def test_damaged_records_of_here_are_not_written_over(sent, clone):
    sweep, folder = sent
    merge(clone, packed(sweep, folder))
    path = clone.root / "output/here/records.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-20])
    before = everything(clone.root)
    sweep.record("Depth", 4, [worker(settled(), [[0.04]])])
    (came,) = merge(clone, packed(sweep, folder))
    assert came.machine is None and "cut off" in came.refused[0]
    assert everything(clone.root) == before


def test_two_at_once_are_refused_in_one_line(sent, clone):
    sweep, folder = sent
    path = packed(sweep, folder)
    hold = (
        "import filelock, sys; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); "
        "print('held', flush=True); sys.stdin.read()"
    )
    (clone.root / ".asv").mkdir()
    command = [sys.executable, "-c", hold, str(clone.root / ".asv" / merged.LOCK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(UsageError, match="another merge into this project is running"):
            merge(clone, path)
        assert merged.finish(clone.root) == []
    assert len(merge(clone, path)) == 1


def test_files_that_a_sweep_writes_are_left_alone_while_it_runs(sent, clone, monkeypatch):
    sweep, folder = sent
    take_root(monkeypatch, clone.root)
    path = packed(sweep, folder)
    merge(clone, path)
    files.write(clone.root / "output/here/SeqLen/512/run.json", {"no": "record"})
    loose = clone.root / "output/here/SeqLen/256/run.json"
    mine = worker(settled(), [[0.1]], id="mine")
    files.write(loose, CellRecord(key=record(sweep, "SeqLen/256").key, workers=[mine]))
    held, before = lock.hold(), loose.read_bytes()
    (came,) = merge(clone, path)
    assert came.machine is None and "is running on this machine already" in came.refused[0]
    assert loose.read_bytes() == before
    held.close()
    (came,) = merge(clone, path)
    assert came.extended == 1 and loose.read_bytes() != before
    assert "cannot be read" in came.refused[0]


@pytest.mark.parametrize("name", ["compare", "asv", "README.md", "results.csv", "quick"])
def test_names_of_our_own_folders_are_no_machines(name):
    with pytest.raises(registry.MachineError):
        registry.check_name(name)
