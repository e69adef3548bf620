"""What a client does where nobody answers, somebody else does, or an answer is lost."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from interlock import InputError, UnavailableError
from interlock.client import ClientRun, connect
from interlock.client.connection import address_of
from interlock.errors import LedgerError
from server.served import Served, serving_apart

HTML = b"<html>hello</html>"
GARBAGE = b'{"id": 7'
FOREIGN = b'{"type": "x", "status": 400, "detail": "d"}'


def response(body: bytes, kind: str, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@contextmanager
def saying(replies: Sequence[bytes]) -> Generator[str]:
    """Answer each request with the next of these, whatever it asks."""
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"

    def answer() -> None:
        for reply in replies:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(reply)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield address
    finally:
        thread.join()
        listening.close()


@contextmanager
def losing_first_answer(target: str) -> Generator[str]:
    """Pass on what is asked of a server, and lose its first answer on the way."""
    host, _, port = target.removeprefix("http://").rpartition(":")
    listening = socket.create_server(("127.0.0.1", 0))

    def relay() -> None:
        for is_lost in (True, False):
            near, _ = listening.accept()
            with near, socket.create_connection((host, int(port))) as far:
                pass_on(near, far, is_lost=is_lost)

    thread = threading.Thread(target=relay)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        thread.join()
        listening.close()


def pass_on(near: socket.socket, far: socket.socket, *, is_lost: bool) -> None:
    while True:
        ready, _, _ = select.select([near, far], [], [])
        if near in ready:
            asked = near.recv(65536)
            if not asked:
                return
            far.sendall(asked)
        if far in ready:
            answered = far.recv(65536)
            if is_lost or not answered:
                return
            near.sendall(answered)


def test_where_nobody_answers_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"no server answers at .*gone.*interlock serve"):
        connect(tmp_path / "gone").run("a task")


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (response(HTML, "text/html"), "not as a server of Interlock does"),
        (response(HTML, "text/html", "404 Not Found"), "status 404, and not as a server"),
        (response(b"{}", "application/json"), "is not understood"),
        (response(GARBAGE, "application/json"), "is not understood"),
        (response(GARBAGE, "application/problem+json", "500 Oh"), "not as a server of Interlock"),
        (
            response(
                b'{"type":"x","status":400,"detail":"d"}', "application/problem+json", "400 Bad"
            ),
            "is it one",
        ),
    ],
)
def test_a_server_of_another_kind_is_told_from_ours(reply: bytes, told: str) -> None:
    with saying([reply]) as place, connect(place) as client, pytest.raises(LedgerError, match=told):
        client.run("a task")


def test_an_error_that_nobody_knows_is_one_of_the_ledger() -> None:
    problem = b'{"type":"urn:interlock:error:NewError","status":500,"detail":"of tomorrow"}'
    reply = response(problem, "application/problem+json", "500 Internal Server Error")

    with saying([reply]) as place, connect(place) as client, pytest.raises(LedgerError, match="of"):
        client.run("a task")


def test_what_was_lost_on_the_way_is_done_once(served: Served) -> None:
    token = served.tokens["agent"]
    with connect(served.listening.url, token=token) as client:
        run = client.run("a task")
    assert served.listening.url is not None
    with losing_first_answer(served.listening.url) as place, connect(place, token=token) as lossy:
        answer = ClientRun(lossy._connection, run.id).command("ls")

    assert answer.allowed
    assert answer.repeated
    assert served.desk.governor.state(run.id).seq == 2


def test_a_server_that_comes_back_is_found_again(tmp_path: Path) -> None:
    with serving_apart(tmp_path) as server:
        client = connect(server.listening.socket)
        run = client.run("a task")
        server.kill()
    with serving_apart(tmp_path), client:
        assert run.command("ls").allowed
        assert run.state.seq == 2


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("http://example.org", "would travel there in the open"),
        ("ftp://127.0.0.1", "expected `https://HOST:PORT`"),
        ("https://user:secret@host", "expected `https://HOST:PORT`"),
        ("http://127.0.0.1:port", "is no URL"),
    ],
)
def test_a_place_that_is_none_is_refused(place: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        connect(place)

    assert "secret" not in str(refused.value)


def test_a_place_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_SERVER", "https://interlock.example")
    assert address_of(None).host == "interlock.example"

    monkeypatch.delenv("INTERLOCK_SERVER")
    assert (address_of(None).socket or "").endswith(".http")


def test_a_token_that_is_none_is_never_sent() -> None:
    with pytest.raises(InputError, match="`token` is not one"):
        connect("/nowhere", token="a\r\nb").run("a task")
