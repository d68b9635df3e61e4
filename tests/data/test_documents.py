"""The corpus as lines, and documents tokenized by several threads at a time."""

import threading
import time

import numpy as np
import pytest
from made_feeds import ROWS

from cputrain.data import corpus, lines
from cputrain.data.corpus import DataError
from cputrain.data.documents import AHEAD, Documents
from cputrain.data.lines import Lines


@pytest.fixture
def path(small):
    return lines.kept(corpus.load(small, offline=True), small)


def test_the_file_is_made_once_and_again_where_it_is_gone(small, path):
    text = corpus.load(small, offline=True)
    before = path.stat().st_mtime_ns
    assert lines.kept(text, small) == path and path.stat().st_mtime_ns == before
    content = path.read_bytes()
    path.unlink()
    with pytest.raises(DataError, match="No such file"):
        Lines(path, 1)
    assert lines.kept(text, small).read_bytes() == content


def test_a_folder_that_cannot_be_written_is_a_data_error(small):
    (small / "file").write_text("")
    with pytest.raises(DataError, match="file"):
        lines.kept(corpus.load(small, offline=True), small / "file" / "data")


def test_lines_are_the_first_rows_over_and_over(path):
    for rows in (5, 2):
        reader = Lines(path, rows)
        texts = [reader.text(*reader.next()) for _ in range(2 * rows + 1)]
        assert tuple(texts) == ROWS[:rows] * 2 + ROWS[:1]
        reader.close()


def encode(text):
    return np.frombuffer(text.encode(), np.uint8)


def test_documents_stay_in_order_when_threads_take_unlike_long(path):
    waits = iter(np.random.default_rng(0).random(1000) * 0.004)

    def uneven(text):
        time.sleep(next(waits))
        return encode(text)

    documents = Documents(Lines(path, 5), uneven, 4)
    for number in range(100):
        assert documents.next().tobytes() == ROWS[number % 5].encode()
    documents.close()


def test_threads_tokenize_at_the_same_time_and_not_too_far_ahead(path):
    together, most, done, begun = 0, 0, 0, 0
    lock, all_four = threading.Lock(), threading.Barrier(4, timeout=60)

    def counting(text):
        nonlocal together, most, done, begun
        with lock:
            begun += 1
            together += 1
            most = max(most, together)
            waits = begun <= 4
        if waits:
            all_four.wait()
        with lock:
            together -= 1
            done += 1
        return encode(text)

    documents = Documents(Lines(path, 5), counting, 4)
    assert len(documents.threads) == 4
    end = time.monotonic() + 60
    while done < AHEAD and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)
    assert done == documents.lines.count == AHEAD and most == 4
    documents.next()
    documents.close()
    assert done <= AHEAD + 1 and not any(thread.is_alive() for thread in documents.threads)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_reader_that_fails_is_one_line(path, workers, monkeypatch):
    def failing(self):
        self.count += 1
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Lines, "next", failing)
    documents = Documents(Lines(path, 5), encode, workers)
    with pytest.raises(DataError, match="Input/output error") as caught:
        documents.next()
    assert str(path) in str(caught.value)
    documents.close()
