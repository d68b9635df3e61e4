"""The corpus: kept, checked on load, and replaced by the built-in one in one line."""

import json
import threading

import pytest

from cputrain.data import corpus, hub


@pytest.fixture
def no_hub(monkeypatch):
    def refuse(*_, **__):
        raise hub.HubError("the hub could not be reached: test")

    monkeypatch.setattr(hub, "fetch", refuse)


@pytest.fixture
def untouchable(monkeypatch):
    def touched(*_, **__):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(hub.urllib.request, "urlopen", touched)
    monkeypatch.setattr("socket.getaddrinfo", touched)


def test_the_built_in_corpus_is_a_thousand_rows_of_the_whole_text():
    from pydoc_data import topics

    rows, source = corpus.built_in()
    assert len(rows) == 1000 and all(rows)
    assert "".join(rows) == "\n".join(topics.topics[k] for k in sorted(topics.topics))
    assert "pydoc_data.topics" in source


def test_without_the_hub_one_line_says_so(tmp_path, no_hub):
    text = corpus.load(tmp_path, offline=False)
    assert len(text.rows) == 1000
    assert text.note is not None and "\n" not in text.note
    assert "could not be reached" in text.note and text.source in text.note


def test_offline_touches_no_network(tmp_path, untouchable):
    text = corpus.load(tmp_path, offline=True)
    assert text.note is not None and text.note.startswith("offline")


def test_what_the_hub_gives_is_kept_and_found_again(tmp_path, monkeypatch):
    rows = ("zeile 1 ü", "", "row 3")
    monkeypatch.setattr(hub, "fetch", lambda root, least: (rows, "made"))
    first = corpus.load(tmp_path, offline=False)
    monkeypatch.undo()
    again = corpus.load(tmp_path, offline=True)
    assert again == first
    assert again.rows == rows and again.source == "made" and again.note is None
    assert {path.name for path in tmp_path.iterdir()} == {corpus.FILE, corpus.LOCK}


def test_a_kept_corpus_is_not_replaced_when_the_hub_comes_back(tmp_path, untouchable):
    first = corpus.load(tmp_path, offline=True)
    again = corpus.load(tmp_path, offline=False)
    assert again.fingerprint == first.fingerprint


def test_two_at_once_of_which_one_misses_the_hub_take_the_same(tmp_path, monkeypatch):
    loaded = []
    other = threading.Thread(target=lambda: loaded.append(corpus.load(tmp_path, offline=True)))

    def fetch(root, least):
        other.start()
        other.join(0.5)  # time for it to make its own
        return ("row 1", "row 2"), "made"

    monkeypatch.setattr(hub, "fetch", fetch)
    loaded.append(corpus.load(tmp_path, offline=False))
    other.join()
    kept = corpus.load(tmp_path, offline=True)
    assert [text.fingerprint for text in loaded] == [kept.fingerprint] * 2


def test_the_fingerprint_knows_where_rows_end():
    assert corpus.fingerprint(("ab", "c")) != corpus.fingerprint(("a", "bc"))
    assert corpus.fingerprint(("1:a",)) != corpus.fingerprint(("a",))


def damaged(change):
    def apply(path):
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return apply


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff\xfe"),
        lambda path: path.write_text("[]"),
        lambda path: path.write_text("null"),
        damaged(lambda content: content["rows"].pop()),
        damaged(lambda content: content["rows"].append(7)),
        damaged(lambda content: content.update(rows=["\ud800"])),
        damaged(lambda content: content.update(rows=[])),
        damaged(lambda content: content.pop("source")),
        damaged(lambda content: content.update(fingerprint="0" * 64)),
    ],
)
def test_a_damaged_corpus_is_one_line_that_says_what_to_do(tmp_path, damage):
    corpus.load(tmp_path, offline=True)
    damage(tmp_path / corpus.FILE)
    with pytest.raises(corpus.DataError) as caught:
        corpus.load(tmp_path, offline=True)
    message = str(caught.value)
    assert "\n" not in message
    assert str(tmp_path / corpus.FILE) in message and "delete it" in message


def test_a_folder_that_cannot_be_made_is_a_data_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(corpus.DataError, match="file"):
        corpus.load(tmp_path / "file" / "data", offline=True)


def test_what_is_kept_is_loaded_and_not_made_again(tmp_path, monkeypatch):
    first = corpus.load(tmp_path, offline=True)
    monkeypatch.setattr(corpus, "built_in", None)
    assert corpus.load(tmp_path, offline=True).rows == first.rows
