"""Bytes that the kernel counted on this process's connections."""

import socket

import pytest

from cputrain.machine.reading import Unknown
from cputrain.worker.ranks import traffic


def test_every_byte_is_counted_once():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    peer, _ = server.accept()
    with server, client, peer:
        try:
            before = traffic.sent()
        except Unknown as unknown:
            pytest.skip(str(unknown))
        client.sendall(bytes(150_000))
        peer.sendall(b"x" * 17)
        received = 0
        while received < 150_000:
            received += len(peer.recv(1 << 16))
        assert client.recv(64) == b"x" * 17
        assert traffic.sent() - before == 150_017


def test_a_process_without_connections_says_so(monkeypatch):
    monkeypatch.setattr(traffic.os, "listdir", lambda _: [])
    with pytest.raises(Unknown, match="no TCP connection"):
        traffic.sent()


@pytest.mark.parametrize(("size", "share"), [(1, 0), (2, 1), (4, 1.5), (8, 1.75)])
def test_a_ring_sends_each_byte_twice_but_for_one_share(size, share):
    assert traffic.ring_bytes(1000, size) == 1000 * share
