"""The connection to a server: HTTP over a Unix socket or TCP, kept for each thread.

Every request that changes anything carries a key of its own, so that it is done once even where
its answer was lost and it is sent again.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import os
import socket
import ssl
import struct
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from interlock import errors, settings
from interlock.errors import (
    InputError,
    InterlockError,
    LedgerError,
    NotPermittedError,
    PolicyError,
    UnavailableError,
    UnfinishedError,
)
from interlock.model.entrance import FilePath

T = TypeVar("T")

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_PAUSES_S: Final = (0.0, 0.1, 0.5, 1.5)
"""How long it waits before each attempt to reach a server."""
_ANSWER_S: Final = 60.0
"""So long an answer may take, besides what it is to wait for."""
_LONGEST_ROOM_S: Final = 30.0
"""So long it waits altogether where it was told that it asks too often."""
_LARGEST_ANSWER: Final = 256 * 2**20
_CREDENTIALS: Final = struct.Struct("3i")
_JSON: Final = "application/json"
_PROBLEM: Final = "application/problem+json"
_URN: Final = "urn:interlock:error:"


class Address(NamedTuple):
    """Where a server is."""

    shown: str
    host: str
    port: int
    is_tls: bool
    socket: str | None = None
    """The path of a Unix socket."""


class Request(NamedTuple):
    """What is asked of a server."""

    method: str
    path: str
    body: Mapping[str, object] | None = None
    query: Mapping[str, object] | None = None
    token: str | None = None
    """Whose request it is, if not that of whoever connected."""
    wait_s: float = 0.0
    """How long the server is asked to wait before it answers."""


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says went wrong."""

    type: str
    status: int
    detail: str
    complaints: tuple[str, ...] = ()
    approval_id: str | None = None


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over the socket of a file."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the file."""
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.settimeout(self.timeout)
            made.connect(self._path)
            _check_own(made, self._path)
        except BaseException:
            made.close()
            raise
        self.sock = made


def _check_own(connection: socket.socket, path: str) -> None:
    """Raise OSError where another user listens, who would be shown a token and could say yes."""
    if hasattr(socket, "SO_PEERCRED"):
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, uid, _ = _CREDENTIALS.unpack(told)
        if uid != os.getuid():
            raise PermissionError(errno.EPERM, f"user {uid} listens there, not this one", path)


class Connection:
    """Asks a server; usable from any thread, each of which has a connection of its own."""

    def __init__(self, place: FilePath | None, token: str | None) -> None:
        self._address = address_of(place)
        self._token = token or settings.current_ledger_places().token
        self._own = threading.local()
        self._open: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()

    @property
    def place(self) -> str:
        """Where the server is, for a person."""
        return self._address.shown

    def ask(self, request: Request, answer: type[T]) -> T:
        """Return the answer; raise the error that the server tells of."""
        body = self._sent(request)
        try:
            return _decoder(answer).decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise LedgerError(
                f"{self.place} answered `{request.method} {request.path}` with what is not"
                f" understood: {error}; is it a server of another version?"
            ) from error

    def tell(self, request: Request) -> None:
        """Ask what has no answer but that it was done."""
        self._sent(request)

    def close(self) -> None:
        """Let the connections of all threads go."""
        with self._lock:
            for each in self._open:
                each.close()
            self._open.clear()

    def _sent(self, request: Request) -> bytes:
        headers = self._headers(request)
        content = None if request.body is None else _encoded(request.body)
        until = time.monotonic() + _LONGEST_ROOM_S
        while True:
            status, kind, wait_s, body = self._reached(request, headers, content)
            if status == 429 and time.monotonic() + wait_s < until:
                time.sleep(wait_s)
                continue
            if 200 <= status < 300 and (kind == _JSON or not body):
                return body
            raise self._error(request, status, kind, body)

    def _reached(
        self, request: Request, headers: Mapping[str, str], content: bytes | None
    ) -> tuple[int, str, float, bytes]:
        """Send it until it is answered, or nobody is there who could."""
        failure: Exception | None = None
        for pause_s in _PAUSES_S:
            time.sleep(pause_s)
            try:
                return self._exchanged(request, headers, content)
            except TimeoutError as error:
                # It may still be at work on it: to ask again would only make that worse.
                self._forget()
                raise UnavailableError(
                    f"{self.place} did not answer within {_ANSWER_S + request.wait_s:g} seconds"
                ) from error
            except ssl.SSLError as error:
                self._forget()
                raise UnavailableError(
                    f"{self.place} cannot be trusted: {error.reason or error}; name its certificate"
                    " in SSL_CERT_FILE"
                ) from error
            except (OSError, http.client.HTTPException) as error:
                self._forget()
                failure = error
        raise UnavailableError(
            f"no server answers at {self.place}: {_why(failure)}; start one with `interlock serve`,"
            " or ask without one: `Interlock.open()`"
        ) from failure

    def _exchanged(
        self, request: Request, headers: Mapping[str, str], content: bytes | None
    ) -> tuple[int, str, float, bytes]:
        connection = self._connection()
        limit_s = _ANSWER_S + request.wait_s
        connection.timeout = limit_s
        if connection.sock is not None:
            connection.sock.settimeout(limit_s)
        path = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
        connection.request(request.method, path, content, dict(headers))
        response = connection.getresponse()
        body = response.read(_LARGEST_ANSWER + 1)
        if len(body) > _LARGEST_ANSWER:
            self._forget()
            raise LedgerError(f"{self.place} answered with more than {_LARGEST_ANSWER:,} bytes")
        kind = (response.getheader("content-type") or "").partition(";")[0].strip().lower()
        return response.status, kind, _seconds(response.getheader("retry-after")), body

    def _headers(self, request: Request) -> dict[str, str]:
        headers = {"accept": f"{_JSON}, {_PROBLEM}"}
        if request.method != "GET":
            headers["idempotency-key"] = _key(request)
        if request.body is not None:
            headers["content-type"] = _JSON
        token = request.token or self._token
        if token is not None:
            if not token.isascii() or not token.isprintable():
                raise InputError("`token` is not one: it holds what no token does")
            headers["authorization"] = f"Bearer {token}"
        return headers

    def _connection(self) -> http.client.HTTPConnection:
        # A process that was forked shares no connection with the one that it comes from.
        kept: tuple[int, http.client.HTTPConnection] | None = getattr(self._own, "kept", None)
        if kept is not None and kept[0] == os.getpid():
            return kept[1]
        made = _made(self._address)
        self._own.kept = os.getpid(), made
        with self._lock:
            self._open.add(made)
        return made

    def _forget(self) -> None:
        kept: tuple[int, http.client.HTTPConnection] | None = getattr(self._own, "kept", None)
        if kept is not None:
            self._own.kept = None
            kept[1].close()
            with self._lock:
                self._open.discard(kept[1])

    def _error(self, request: Request, status: int, kind: str, body: bytes) -> InterlockError:
        told: _Told | None = None
        if kind == _PROBLEM:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                told = _decoder(_Told).decode(body)
        if told is None or not told.type.startswith(_URN):
            return LedgerError(
                f"{self.place} answered `{request.method} {request.path}` with status {status}, and"
                " not as a server of Interlock does: is it one?"
            )
        return _error_from(told)


def address_of(place: FilePath | None) -> Address:
    """Return where a server is: a URL, the path of its socket, or where the environment says."""
    named = settings.server_url() if place is None else os.fspath(place)
    if named is None:
        ledger = settings.current_ledger_places().ledger
        named = str(settings.current_server_places(ledger).socket)
    if "://" not in named:
        return Address(named, "localhost", 0, is_tls=False, socket=os.path.expanduser(named))  # noqa: PTH111 - as a text
    return _address_from_url(named)


def _address_from_url(url: str) -> Address:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise InputError(f"`place` is `{url}`, which is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        raise InputError(
            f"`place` is `{parts.scheme}://{host}`, expected `https://HOST:PORT`,"
            " `http://127.0.0.1:PORT` or the path of a socket"
        )
    is_tls = parts.scheme == "https"
    if not is_tls and host not in _LOOPBACK:
        raise InputError(
            f"`place` is `http://{host}`: a token would travel there in the open; use `https`"
        )
    return Address(
        f"{parts.scheme}://{parts.netloc}", host, port or (443 if is_tls else 80), is_tls
    )


def _made(address: Address) -> http.client.HTTPConnection:
    if address.socket is not None:
        return _UnixConnection(address.socket, _ANSWER_S)
    if address.is_tls:
        trusted = ssl.create_default_context()
        return http.client.HTTPSConnection(
            address.host, address.port, timeout=_ANSWER_S, context=trusted
        )
    return http.client.HTTPConnection(address.host, address.port, timeout=_ANSWER_S)


_MAKING: Final = threading.Lock()
_DECODERS: Final[dict[object, msgspec.json.Decoder[Any]]] = {}


def _decoder(answer: type[T]) -> msgspec.json.Decoder[T]:
    """Return what reads an answer.

    INVARIANT: it is made by one thread at a time: two that read a type at once, before anybody has
    read it, end the process.
    """
    with _MAKING:
        if answer not in _DECODERS:
            _DECODERS[answer] = msgspec.json.Decoder(answer)
    return _DECODERS[answer]


def _encoded(body: Mapping[str, object]) -> bytes:
    said = {name: value for name, value in body.items() if value is not None}
    try:
        return msgspec.json.encode(said)
    except UnicodeEncodeError:
        raise InputError("the request holds half a character: it cannot be sent") from None


def _why(failure: Exception | None) -> str:
    """Return what went wrong, without the numbers of the operating system."""
    said = failure.strerror if isinstance(failure, OSError) else None
    return (said or str(failure or "it says nothing")).lower()


def _key(request: Request) -> str:
    """Return what stands for a request, however often it is sent: its own key, or a new one."""
    own = (request.body or {}).get("key")
    if own is None:
        return uuid.uuid4().hex
    if not isinstance(own, str) or not own.isascii() or not own.isprintable():
        raise InputError("`key` holds what cannot be sent: use letters, digits and signs of ASCII")
    return own


def _seconds(header: str | None) -> float:
    return float(header) if header is not None and header.isdecimal() else 1.0


_KINDS: Final[Mapping[str, type[InterlockError]]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, InterlockError)
}
_BY_STATUS: Final = (
    (range(401, 402), NotPermittedError),
    (range(403, 404), NotPermittedError),
    (range(408, 409), UnavailableError),
    (range(429, 430), UnavailableError),
    (range(400, 500), InputError),
    (range(503, 504), UnavailableError),
)


def _error_from(told: _Told) -> InterlockError:
    """Return what Python raises where the ledger is: the same class, the same words."""
    kind = _KINDS.get(told.type.removeprefix(_URN))
    if kind is None:
        kind = next((each for statuses, each in _BY_STATUS if told.status in statuses), LedgerError)
    if issubclass(kind, PolicyError):
        return kind(told.complaints or (told.detail,))
    if issubclass(kind, UnfinishedError):
        return kind(told.detail, approval_id=told.approval_id)
    return kind(told.detail)


def pages(connection: Connection, path: str, answer: type[T]) -> Iterator[T]:
    """Yield each page of a list, from the first on."""
    after: Any = 0
    while after is not None:
        page = connection.ask(Request("GET", path, query={"after": after, "limit": 100}), answer)
        yield page
        after = getattr(page, "after", None)
