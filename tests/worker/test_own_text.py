"""Somebody's own files as training data: what is read, held back and refused."""

import fcntl
import json
import os
import tempfile
import threading

import numpy as np
import pytest
from settled import settled

from cputrain.data.corpus import DataError
from cputrain.record.plan import TrainingPlan
from cputrain.worker import answering
from cputrain.worker.training import making, on_disk, rows, sources

TEXTS = [f"Document {n}: \u00e4\u00f6\u00fc and so on." for n in range(57)]


def written(folder, kind):
    path = folder / f"own.{kind}"
    if kind == "txt":
        path.write_text("\n\n".join(TEXTS), encoding="utf-8")
    elif kind == "jsonl":
        path.write_text("".join(json.dumps({"text": text, "n": 1}) + "\n" for text in TEXTS))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"n": [*range(57)], "text": TEXTS}), path)
    return path


@pytest.mark.parametrize("kind", ["txt", "jsonl", "parquet"])
def test_every_kind_gives_the_documents(tmp_path, kind):
    assert [text.strip() for text in rows.documents(written(tmp_path, kind))] == TEXTS


def test_long_text_without_a_break_is_cut_between_characters(tmp_path):
    path = tmp_path / "long.txt"
    text = "a" + "\u00e4\u20ac" * 100_000
    path.write_text(text, encoding="utf-8")
    pieces = list(rows.documents(path))
    assert "".join(pieces) == text
    assert max(len(piece.encode()) for piece in pieces) <= 2 * rows.LONGEST


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("a.txt", b"good\ngood\n\xff\xfe\n", "line 3: not UTF-8"),
        ("a.txt", b"good\n\xe2\x82", "line 2: not UTF-8"),
        ("a.jsonl", b'{"text": "a"}\n{"text": 3}\n', "line 2: no text"),
        ("a.jsonl", b'"a"\n[1]\n', "line 2: no text"),
        ("a.jsonl", b'"a"\n\n{"text"\n', "line 3: not JSON"),
        ("a.jsonl", b'"a"\n"\\ud800"\n', "line 2: not Unicode"),
        ("a.jsonl", b'"a"\n"\xff"\n', "line 2: not UTF-8"),
        ("a.parquet", b"PAR1 and nothing", "a.parquet: "),
    ],
)
def test_what_is_no_text_is_named_by_file_and_line(tmp_path, name, data, line):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError, match=line) as caught:
        list(rows.documents(path))
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_row_of_parquet_that_is_no_text_is_named(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": ["a", None]}), path)
    with pytest.raises(DataError, match="row 2 is no text"):
        list(rows.documents(path))
    parquet.write_table(pyarrow.table({"other": ["a"]}), path)
    with pytest.raises(DataError, match='no column "text" among other'):
        list(rows.documents(path))


def test_one_document_of_each_group_is_held_back():
    held = [text for text, is_rest in on_disk.drawn(TEXTS, 20, seed=0) if is_rest]
    assert len(held) in (2, 3)
    assert held == [text for text, is_rest in on_disk.drawn(TEXTS, 20, seed=0) if is_rest]
    assert [is_rest for _, is_rest in on_disk.drawn(TEXTS[:2], 20, seed=0)].count(True) == 1


def test_no_sequence_is_validated_twice(tmp_path):
    """Of those held back the last batch would not be full; it would go on with the first ones."""
    experiment = settled(n_layer=1, n_embd=32, n_head=2, seq_len=8, batch_size=3)
    plan = TrainingPlan(steps=10, files=[str(written(tmp_path, "jsonl"))], validation_batches=99)
    split = sources.opened(experiment, plan, tmp_path / "data", offline=True)
    places = [place for batch in split.validation() for place in batch.places]
    assert len(places) > 4 and len(set(places)) == len(places)


@pytest.mark.parametrize("vocab_size", [257, 300])
def test_windows_on_disk_are_those_of_the_text(tmp_path, vocab_size):
    pytest.importorskip("tokenizers")
    experiment = settled(n_layer=1, n_embd=32, n_head=2, seq_len=16, vocab_size=vocab_size)
    plan = TrainingPlan(steps=10, files=[str(written(tmp_path, "jsonl"))])
    root = tmp_path / "data"
    split = sources.opened(experiment, plan, root, offline=True)
    train, rest, facts = on_disk.kept(plan.files, vocab_size, plan.validation_share, 0, root)
    assert sum(facts["documents"]) == 57
    assert split.training.facts()["sequences"] == -(-(len(train.ids) - 1) // 16)
    seen = split.training.next()
    (place,) = seen.places
    assert np.array_equal(seen.inputs[0], train.ids[place * 16 : place * 16 + 16])
    assert np.array_equal(seen.targets[0], train.ids[place * 16 + 1 : place * 16 + 17])
    if vocab_size == 257:
        text, held = (
            bytes(x for x in part.ids[: len(part.ids)].tolist() if x < 256).decode()
            for part in (train, rest)
        )
        assert all((each in text) != (each in held) for each in TEXTS)
    # Made once; of other text it is made anew.
    again = sources.opened(experiment, plan, root, offline=True)
    assert again.fingerprint == split.fingerprint
    written(tmp_path, "jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    assert sources.opened(experiment, plan, root, offline=True).fingerprint != split.fingerprint


def test_one_document_is_too_few(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("alone")
    experiment = settled(n_layer=1, n_embd=32, n_head=2, seq_len=16)
    plan = TrainingPlan(steps=10, files=[str(path)])
    with pytest.raises(DataError, match="fewer than two documents"):
        sources.opened(experiment, plan, tmp_path / "data", offline=True)


def kept(tmp_path):
    text = tmp_path / "book.txt"
    if not text.exists():  # another time of writing is another file
        text.write_text("\n\n".join(f"document {number}" for number in range(40)))
    return on_disk.kept([str(text)], 257, 0.05, 0, tmp_path / "data")


def test_tokens_that_are_being_made_stay_and_those_of_a_killed_process_go(tmp_path):
    making, killed = tmp_path / "data" / ".own-1", tmp_path / "data" / ".own-2"
    for folder in (making, killed):
        folder.mkdir(parents=True)
        (folder / on_disk.TRAIN).write_text("")
    handle = os.open(making, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    kept(tmp_path)
    os.close(handle)
    assert (making / on_disk.TRAIN).exists() and not killed.exists()


def test_a_new_folder_is_not_taken_for_that_of_a_killed_process(tmp_path, monkeypatch):
    mkdtemp = tempfile.mkdtemp
    other = threading.Thread(target=on_disk._aside, args=(tmp_path / "data" / "own-2",))

    def first_the_other(**where):
        monkeypatch.undo()
        made = mkdtemp(**where)
        other.start()
        other.join(0.5)  # time for it to remove what nobody holds
        return made

    monkeypatch.setattr(tempfile, "mkdtemp", first_the_other)
    train, _, _ = kept(tmp_path)
    other.join()
    assert len(train.ids) > 0


@pytest.mark.parametrize("name", [on_disk.TRAIN, on_disk.REST, on_disk.FACTS])
def test_tokens_of_which_a_file_is_gone_are_made_again(tmp_path, name):
    before, _, facts = kept(tmp_path)
    (folder,) = (tmp_path / "data").glob("own-*")
    (folder / name).unlink()
    after, _, again = kept(tmp_path)
    assert len(after.ids) == len(before.ids) > 0 and again == facts


def test_the_same_tokens_made_by_another_process_meanwhile_are_taken(tmp_path, monkeypatch):
    of_all, others = rows.of_all, []

    def first_the_other(files):
        if not others:
            others.append(None)
            others.append(kept(tmp_path)[2])
            (folder,) = (tmp_path / "data").glob("own-*")
            others.append((folder / on_disk.TRAIN).stat().st_ino)
        return of_all(files)

    monkeypatch.setattr(rows, "of_all", first_the_other)
    train, _, facts = kept(tmp_path)
    assert facts == others[1] and len(train.ids) > 0
    (folder,) = (tmp_path / "data").glob("*own-*")  # nothing is left aside
    assert (folder / on_disk.TRAIN).stat().st_ino == others[2]


def test_tokens_aside_that_are_gone_when_they_are_looked_at_are_nobodys(tmp_path):
    assert on_disk._held(tmp_path / ".own-gone") is None


def test_what_is_wrong_with_a_file_is_said_without_the_name_of_a_class():
    line = "book.txt: line 1: not UTF-8"
    assert answering.failure(DataError(line)).reason == line
    assert answering.failure(ValueError(line)).reason == f"ValueError: {line}"


def test_making_tokens_says_how_far_it_has_come(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"x" * 3_000_000)
    seconds, said = iter([0.0, 1.0, 3.5, 3.5, 4.0, 14.0, 14.0]), []
    counted = making.Making([str(tmp_path / "a.txt")], said.append, lambda: next(seconds))
    for _ in range(4):
        counted.add(500_000)
    assert said == [
        f"making tokens, once: of {size} MB of text so far; the files have 3 MB" for size in (1, 2)
    ]


def test_whoever_opens_the_data_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(making, "FIRST_S", 0.0)
    experiment = settled(n_layer=1, n_embd=32, n_head=2, seq_len=16)
    plan, said = TrainingPlan(steps=10, files=[str(written(tmp_path, "txt"))]), []
    sources.opened(experiment, plan, tmp_path / "data", offline=True, say=said.append)
    assert said and said[0].startswith("making tokens, once")
    sources.opened(experiment, plan, tmp_path / "data", offline=True, say=said.append)
    assert len(said) == 1
