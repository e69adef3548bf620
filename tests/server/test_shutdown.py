"""On shutdown, a server answers the requests under way and closes all other connections."""

from __future__ import annotations

import socket
from contextlib import suppress
from http.client import HTTPResponse

import msgspec

from patience import LONG_ENOUGH_S
from server.served import Served


def test_a_request_under_way_is_answered(served: Served) -> None:
    body = msgspec.json.encode({"task": "a task"})
    head = (
        "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {served.tokens['agent']}\r\ncontent-length: {len(body)}\r\n"
        "expect: 100-continue\r\n\r\n"
    )
    with socket.create_connection(served.address, LONG_ENOUGH_S) as connection:
        connection.sendall(head.encode())
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        served.end()
        wait_until_closed(served)
        connection.sendall(body)
        answer = HTTPResponse(connection)
        answer.begin()

        assert answer.status == 201
        assert answer.getheader("connection") == "close"
        assert msgspec.json.decode(answer.read())["task"] == "a task"


def test_idle_connections_and_streams_are_closed(served: Served) -> None:
    idle, streaming = served.connection(), served.connection()
    idle.request("GET", "/healthz")
    assert idle.getresponse().read() == b'{"status":"ok"}'
    headers = {"authorization": f"Bearer {served.tokens['viewer']}"}
    streaming.request("GET", "/v1/stream", headers=headers)
    events = streaming.getresponse()
    assert events.readline() == b"retry: 1000\n"

    served.end()

    assert idle.sock.recv(1) == b""
    # A stream that is cut off raises IncompleteRead.
    assert events.read() == b"\n"
    idle.close()
    streaming.close()


def wait_until_closed(served: Served) -> None:
    """Wait until the server refuses connections."""
    with suppress(ConnectionRefusedError):
        while True:
            # A connection that is not accepted before the server closes is reset.
            with suppress(ConnectionResetError):
                socket.create_connection(served.address, LONG_ENOUGH_S).close()
