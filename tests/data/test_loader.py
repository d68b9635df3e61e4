"""The streaming loader: always the same batches, never too many, and quick to end."""

import os
import threading
import time

import pytest
from made_feeds import OBJECTIVES, equal, opened

from cputrain.data import documents, lines, loader
from cputrain.data.corpus import DataError
from cputrain.errors import DidNotTrain

STREAM = {"loader": "stream", "seq_len": 16, "batch_size": 3, "rows": 5}
KINDS = {
    "causal": {},
    "padded": {"packing": "padded"},
    "masked": OBJECTIVES["masked"],
    "masked_node": OBJECTIVES["masked_node"],
    "bpe": {"vocab_size": 270},
}


@pytest.fixture
def stream(small):
    """Opens streaming feeds over the small corpus and closes them at the end."""
    feeds = []

    def opening(**fields):
        feeds.append(opened(small, **(STREAM | fields)))
        return feeds[-1]

    yield opening
    for feed in feeds:
        feed.close()


class Clock:
    """In the loader's place of `time`: stands still but for what the test says."""

    def __init__(self):
        self.now, self.readings = 0.0, 0

    def perf_counter(self):
        self.readings += 1
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(loader, "time", made)
    return made


HANG_S = 60.0


def ends(work):
    """Do `work`, which hangs where it takes this long."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(HANG_S)
    assert not thread.is_alive()


def wait_until(condition):
    end = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_those_of_the_documents_in_order_for_any_number_of_workers(stream, kind):
    if kind == "bpe":
        pytest.importorskip("tokenizers")
    reference = stream(**KINDS[kind])
    sequences = reference.facts()["sequences"]
    for workers in (0, 1, 2, 4):
        feed = stream(loader_workers=workers, loader_queue=2, **KINDS[kind])
        assert equal(feed.first, reference._epochs.batch(0))
        for number in range(3 * sequences // STREAM["batch_size"] + 2):  # three epochs
            batch = feed.next()
            feed.check(batch)
            assert equal(batch, reference._epochs.batch(number))
            first = number * 3
            assert batch.places.tolist() == [p % sequences for p in range(first, first + 3)]


def test_streamed_text_is_the_memory_feed_s_in_another_order(stream, small):
    memory = opened(small, **(STREAM | {"loader": "memory", "batch_size": 1}))
    streamed = stream(loader_workers=2, batch_size=1)
    count = memory.facts()["sequences"]
    a = sorted(memory.next().inputs[0].tolist() for _ in range(count))
    b = sorted(streamed.next().inputs[0].tolist() for _ in range(count))
    assert a == b
    assert streamed.facts() | {"queue_bytes": 0} == memory.facts()


def test_the_queue_is_bounded_and_so_are_documents_ahead(stream):
    feed = stream(loader_workers=2, loader_queue=3)
    wait_until(lambda: len(feed._loader._ready) == 3)
    lines_read = feed._loader._documents.lines
    wait_until(lambda: lines_read.count >= documents.AHEAD)
    time.sleep(0.1)
    assert len(feed._loader._ready) == 3
    # Read: what the 3 batches and one more took of 5 rows (11 sequences) each epoch, and AHEAD.
    assert lines_read.count <= documents.AHEAD + 5 * 3
    assert feed.queue_bytes == 3 * feed.first.nbytes
    feed.next()
    wait_until(lambda: len(feed._loader._ready) == 3)


def test_without_workers_all_the_work_is_waiting_and_there_are_no_threads(
    stream, monkeypatch, clock
):
    honest, read = lines.Lines.text, []

    def slow(self, number, line):
        clock.now += 5
        read.append(number)
        return honest(self, number, line)

    before = threading.active_count()
    feed = stream()
    assert threading.active_count() == before and feed.thread_ids == () and feed.queue_bytes == 0
    assert feed.waited_s == 0.0
    monkeypatch.setattr(lines.Lines, "text", slow)
    for _ in range(50):
        feed.next()
    assert read and feed.waited_s == 5 * len(read)


@pytest.fixture
def gate(monkeypatch):
    """Documents are read while it is set, and else waited for."""
    honest, opened = lines.Lines.text, threading.Event()
    monkeypatch.setattr(lines.Lines, "text", lambda *given: opened.wait(HANG_S) and honest(*given))
    yield opened
    opened.set()


def test_waiting_for_a_slow_loader_is_counted(stream, gate, clock):
    feed = stream(loader_workers=1)
    thread = threading.Thread(target=feed.next, daemon=True)
    thread.start()
    wait_until(lambda: clock.readings == 1)  # it waits
    clock.now += 5
    gate.set()
    thread.join(HANG_S)
    assert not thread.is_alive() and feed.waited_s == 5


def test_a_batch_that_is_ready_is_not_waited_for(stream, gate):
    gate.set()
    feed = stream(loader_workers=1, loader_queue=8)
    wait_until(lambda: len(feed._loader._ready) == 8)
    gate.clear()
    ends(lambda: [feed.next() for _ in range(8)])


def test_the_threads_are_named_by_the_kernel_s_ids_and_keep_the_mask(stream):
    feed = stream(loader_workers=2)
    assert len(feed.thread_ids) == 3 and os.getpid() not in feed.thread_ids
    for thread in feed.thread_ids:
        assert os.sched_getaffinity(thread) == os.sched_getaffinity(0)


def test_closing_ends_when_the_queue_is_full_and_joins_all(stream):
    before = threading.active_count()
    feed = stream(loader_workers=4, loader_queue=1)
    wait_until(lambda: len(feed._loader._ready) == 1)
    ends(feed.close)
    assert threading.active_count() == before
    with pytest.raises(DataError, match="closed"):
        feed.next()
    feed.close()


def test_closing_ends_a_next_that_waits(stream, gate):
    feed = stream(loader_workers=1)
    caught = []

    def waiting():
        try:
            feed.next()
        except DataError as error:
            caught.append(str(error))

    thread = threading.Thread(target=waiting)
    thread.start()
    closing = threading.Thread(target=feed.close)
    closing.start()
    thread.join(HANG_S)
    gate.set()
    closing.join(HANG_S)
    assert len(caught) == 1 and "closed" in caught[0]


DAMAGE = {
    "cut": (lambda text: text[: text.index(b"rather")], "line 2 is not a text in JSON"),
    "missing": (lambda text: b"".join(text.splitlines(True)[:3]), "line 4 is not a text"),
    "other": (lambda text: text.replace(b'"x"', b"7"), "line 4 is not a text"),
    "bytes": (lambda text: text.replace(b'"x"', b"\xff"), "line 4 is not a text"),
    "surrogate": (lambda text: text.replace(b'"x"', b'"\\ud800"'), "UnicodeEncodeError"),
}


@pytest.mark.parametrize("workers", [0, 1, 4])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_broken_file_is_one_line_in_next_after_the_batches_before_it(
    small, stream, workers, damage
):
    whole = stream()
    change, message = DAMAGE[damage]
    (path,) = small.glob("corpus-*.jsonl")
    path.write_bytes(change(path.read_bytes()))
    feed = stream(loader_workers=workers, batch_size=1)
    assert equal(feed.next(), whole._epochs.sequences(0, 1))
    given = 1
    with pytest.raises(DataError, match=message) as caught:
        for _ in range(100):
            feed.next()
            given += 1
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    # Only whole documents before the damage: 1 of 26 tokens, and where line 4 is damaged 102.
    assert given == (1 if damage == "cut" else 6)
    with pytest.raises(DataError, match=message):
        feed.next()


def test_a_changed_file_is_found_by_the_check(small, stream):
    stream()
    (path,) = small.glob("corpus-*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"twenty-five", b"twenty-six!"))
    feed = stream(loader_workers=2)
    with pytest.raises(DidNotTrain):
        feed.check(feed.next())
