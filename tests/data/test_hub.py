"""The hub: asked shortly, loaded in a child process, every failure one line."""

import http.server
import json
import socket
import threading

import pytest

from cputrain.data import hub


@pytest.fixture
def answering():
    """A server that answers every request with the status in its path."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(int(self.path.split("/")[1]))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_hub_that_answers_is_there(answering):
    hub.probe(f"{answering}/200")


def test_an_answer_that_is_not_the_card_is_a_failure(answering):
    with pytest.raises(hub.HubError, match="404"):
        hub.probe(f"{answering}/404")


def test_a_hub_that_says_nothing_is_given_up_on():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(hub.HubError) as caught:
            hub.probe(f"http://127.0.0.1:{silent.getsockname()[1]}", patience_s=0.3)
        assert "\n" not in str(caught.value)


def test_a_name_server_that_hangs_is_given_up_on(monkeypatch):
    given_up = threading.Event()

    def hang(*_, **__):
        given_up.wait(600)
        raise OSError("too late")

    monkeypatch.setattr("socket.getaddrinfo", hang)
    with pytest.raises(hub.HubError, match="did not answer"):  # what came late would say so
        hub.probe("http://hub.invalid", patience_s=0.3)
    given_up.set()


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "http://[", "nonsense"])
def test_a_hub_that_cannot_be_reached_is_one_line(endpoint):
    with pytest.raises(hub.HubError) as caught:
        hub.probe(endpoint)
    assert "could not be reached" in str(caught.value) and "\n" not in str(caught.value)


def test_a_data_set_is_loaded_in_a_child_and_leaves_nothing(tmp_path):
    pytest.importorskip("datasets")
    source, root = tmp_path / "set", tmp_path / "data"
    source.mkdir()
    rows = [{"id": str(i), "text": f"row {i} ü"} for i in range(5)]
    (source / "train.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    got, described = hub.loaded(str(source), root, least=5)
    assert got == tuple(row["text"] for row in rows)
    assert "train" in described and "text" in described
    assert list(root.iterdir()) == []
    with pytest.raises(hub.HubError, match="5 rows, 6 are needed"):
        hub.loaded(str(source), root, least=6)


def test_a_data_set_that_does_not_load_is_one_line(tmp_path):
    pytest.importorskip("datasets")
    with pytest.raises(hub.HubError) as caught:
        hub.loaded(str(tmp_path / "nothing"), tmp_path, least=1)
    assert "did not load" in str(caught.value) and "\n" not in str(caught.value)


def test_a_load_that_hangs_is_ended(tmp_path):
    with pytest.raises(hub.HubError, match="within"):
        hub.loaded(str(tmp_path), tmp_path, least=1, patience_s=0.01)
    assert list(tmp_path.iterdir()) == []


def test_the_column_of_text():
    assert hub.text_of({"id": ["longest of all"], "text": ["t"]}) == (["t"], "text")
    assert hub.text_of({"id": ["1"], "n": [1000], "body": ["words"]}) == (["words"], "body")
    assert hub.text_of({"text": ["a", None]}) == (["a", ""], "text")
    with pytest.raises(hub.HubError, match="no column of text among n"):
        hub.text_of({"n": [1]})
