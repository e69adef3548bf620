"""A real web server on loopback that does what it is told, one request after the other."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

_HEAD_ENDS = b"\r\n\r\n"


class Received(NamedTuple):
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Connection:
    """One who asks; whatever the server does with it, it does until it is closed."""

    def __init__(self, link: socket.socket, closed: threading.Event) -> None:
        self._link = link
        self.closed = closed

    def say(self, content: bytes) -> bool:
        """Send something; tell whether the other side is still there."""
        try:
            self._link.sendall(content)
        except OSError:
            return False
        return not self.closed.is_set()

    def received(self) -> Received:
        content = b""
        while _HEAD_ENDS not in content:
            content += self._more()
        head, _, body = content.partition(_HEAD_ENDS)
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (i.partition(": ") for i in lines)}
        while len(body) < int(headers["content-length"]):
            body += self._more()
        return Received(first.split(" ")[1], headers, body)

    def _more(self) -> bytes:
        piece = self._link.recv(65_536)
        if not piece:
            raise ConnectionError("the client hung up")
        return piece


Behaviour = Callable[[Connection], None]


def answers(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    """Answer as a web server does."""

    def behave(connection: Connection) -> None:
        lines = [f"HTTP/1.1 {status} Reason", f"content-length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        connection.say("\r\n".join(lines).encode() + _HEAD_ENDS + body)

    return behave


def says(content: bytes) -> Behaviour:
    """Say something that may be no HTTP at all, and hang up."""
    return lambda connection: void(connection.say(content))


def hangs(connection: Connection) -> None:
    """Take the request and never answer."""
    connection.closed.wait()


def says_and_hangs(content: bytes) -> Behaviour:
    """Begin to answer and never end."""

    def behave(connection: Connection) -> None:
        connection.say(content)
        connection.closed.wait()

    return behave


def drips(head: bytes, drop: bytes) -> Behaviour:
    """Answer a little at a time, without end: no single reading ever waits for long."""

    def behave(connection: Connection) -> None:
        is_there = connection.say(head)
        while is_there and not connection.closed.wait(0.01):
            is_there = connection.say(drop)

    return behave


def floods(head: bytes, piece: bytes) -> Behaviour:
    """Answer without end, as fast as it is taken."""

    def behave(connection: Connection) -> None:
        is_there = connection.say(head)
        while is_there:
            is_there = connection.say(piece)

    return behave


def void(_: object) -> None:
    """Forget a result."""


class WebhookServer:
    """Takes requests on a thread for each; behaves as scripted, the last behaviour for ever."""

    def __init__(self, *script: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self._script = list(script)
        self._tls = tls
        self._closed = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._links: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://localhost:{self.port}"

    def close(self) -> None:
        self._closed.set()
        # Wakes the thread that accepts, and whoever reads or writes.
        self._socket.shutdown(socket.SHUT_RDWR)
        for link in self._links:
            _shut(link)
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._closed.is_set():
            try:
                link, _ = self._socket.accept()
            except OSError:
                return
            self._links.append(link)
            thread = threading.Thread(target=self._answer, args=(link,))
            self._threads.append(thread)
            thread.start()

    def _answer(self, link: socket.socket) -> None:
        try:
            with self._tls.wrap_socket(link, server_side=True) if self._tls else link as secured:
                connection = Connection(secured, self._closed)
                self.received.append(connection.received())
                behave = self._script.pop(0) if len(self._script) > 1 else self._script[0]
                behave(connection)
        except OSError:
            link.close()


def _shut(link: socket.socket) -> None:
    try:
        link.shutdown(socket.SHUT_RDWR)
    except OSError:
        link.close()


@contextmanager
def webhook_server(
    *script: Behaviour, tls: ssl.SSLContext | None = None
) -> Generator[WebhookServer]:
    """A server for the time of a test."""
    server = WebhookServer(*script, tls=tls)
    try:
        yield server
    finally:
        server.close()


def refused_port() -> int:
    """A port of loopback at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port
