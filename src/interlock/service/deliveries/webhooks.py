"""Webhooks: an event is posted where a URL says, signed, and when that is tried again.

What is raised names the host and the reason, and never an address, a secret or a key: those may
be the same.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

import msgspec

from interlock.errors import InputError, UnavailableError
from interlock.model.system_loop import CloudEvent
from interlock.policy.config.complaints import one_line
from interlock.ports import Clock
from interlock.service.records.context import SECOND
from interlock.settings import environment

if TYPE_CHECKING:
    import socket
    from http.client import HTTPResponse

    from _typeshed import WriteableBuffer

_MOST_ANSWER: Final = 65_536
"""How much of an answer is read, its headers included."""
_MOST_QUOTED: Final = 200
_TOLERANCE_S: Final = 300
_FINAL: Final = frozenset({301, 308, 400, 401, 403, 404, 405, 410, 413, 415, 422})
"""Answers that stay the same until a person changes something."""
_FIRST_S: Final = 2
_LAST_S: Final = 720
"""With a quarter of it on top, at most, this is the longest pause: a quarter of an hour."""
_LONGEST_RETRY_AFTER_S: Final = 3_600.0


class DeliveryError(UnavailableError):
    """An event could not be delivered, or nobody knows whether it was: its id stays the same."""

    def __init__(
        self, message: str, *, is_final: bool = False, retry_after_s: float | None = None
    ) -> None:
        self.is_final = is_final
        """Whether it fails again until a person changes something."""
        self.retry_after_s = retry_after_s
        """How long the other side asked to be left alone."""
        super().__init__(message)


def retry_at(event_id: str, attempt: int, *, now: int, retry_after_s: float | None) -> int:
    """Return when a delivery is tried again whose attempt failed just now.

    The pause doubles from two seconds to a quarter of an hour. What is added so that not all come
    back at once hangs on the event alone.
    """
    pause = min(_FIRST_S << min(max(attempt, 1) - 1, 16), _LAST_S) * SECOND
    digest = hashlib.sha256(f"{event_id}\0{attempt}".encode()).digest()
    pause += (pause // 4) * int.from_bytes(digest[:4]) >> 32
    asked = min(retry_after_s or 0.0, _LONGEST_RETRY_AFTER_S)
    return now + max(pause, int(asked * SECOND))


class WebhookSink:
    """An HTTP endpoint that gets CloudEvents, signed as Standard Webhooks says."""

    def __init__(
        self,
        *,
        name: str,
        url: str,
        secret_variable: str,
        timeout_s: float,
        clock: Clock,
        allows_http: bool = False,
    ) -> None:
        self.name = name
        self._endpoint = endpoint_from_url(name, url, allows_http=allows_http)
        self._secret_variable = secret_variable
        self._timeout_s = timeout_s
        self._clock = clock

    def deliver(self, event: CloudEvent, attempt: int) -> None:
        """Post an event; what is no 2xx is a failure, and no redirect is followed."""
        secret = variable(self.name, self._secret_variable)
        body = msgspec.json.encode(event)
        timestamp = self._clock.now() // SECOND
        try:
            signature = _signature(secret, event.id, timestamp, body)
        except ValueError as error:
            raise DeliveryError(
                f"sink `{self.name}`: `{self._secret_variable}` begins with `whsec_`, and no"
                " base64 follows: copy the whole secret",
                is_final=True,
            ) from error
        headers = {
            "content-type": "application/cloudevents+json; charset=UTF-8",
            "webhook-id": event.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature,
            "interlock-attempt": str(attempt),
        }
        target = self._endpoint.target
        hidden = (secret, target) if target != "/" else (secret,)
        request = Request(target=target, headers=headers, body=body, hidden=hidden)
        post(self.name, self._endpoint, request, self._timeout_s, self._clock)


def verify_signature(headers: Mapping[str, str], body: bytes, secret: str, now: int) -> None:
    """Check that a webhook was signed with a secret, and lately; raise InputError if it was not."""
    import hmac  # noqa: PLC0415 - loads OpenSSL, and most processes sign nothing

    lower = {name.lower(): value for name, value in headers.items()}
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    message_id, timestamp, signatures = (lower.get(name, "") for name in names)
    if missing := [name for name in names if not lower.get(name)]:
        raise InputError(f"the webhook has no header `{missing[0]}`: take it for a forgery")
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= 12):
        raise InputError("the webhook's `webhook-timestamp` is no number of seconds")
    away_s = abs(now // SECOND - int(timestamp))
    if away_s > _TOLERANCE_S:
        raise InputError(
            f"the webhook's `webhook-timestamp` is {away_s} s away from the time here, and"
            f" {_TOLERANCE_S} s are tolerated: it was replayed, or a clock is wrong"
        )
    try:
        expected = _signature(secret, message_id, int(timestamp), body).encode()
    except ValueError as error:
        raise InputError("the secret begins with `whsec_`, and no base64 follows") from error
    given = [each.encode("utf-8", "replace") for each in signatures.split(" ")]
    if not any([hmac.compare_digest(each, expected) for each in given]):  # noqa: C419 - all are compared, so that time tells nothing
        raise InputError("the webhook's signature does not fit: it is a forgery, or of another key")


def _signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a webhook; raises ValueError where the secret is none."""
    import hmac  # noqa: PLC0415 - loads OpenSSL, and most processes sign nothing

    encoded = secret.removeprefix("whsec_")
    is_plain = encoded == secret
    key = os.fsencode(secret) if is_plain else base64.b64decode(encoded, validate=True)
    if not key:
        raise ValueError("no key")
    digest = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"


def variable(sink: str, name: str) -> str:
    """Return a secret from the environment, as it is now: who changes it restarts nothing else."""
    value = environment().get(name, "").strip()
    if not value:
        raise DeliveryError(
            f"sink `{sink}`: the environment variable `{name}` is empty or not set: set it where"
            " Interlock runs",
            is_final=True,
        )
    return value


class Endpoint(NamedTuple):
    """Whom to ask, and what for."""

    is_tls: bool
    host: str
    port: int
    target: str
    """The path with its query: it may be what has to stay secret."""

    @property
    def shown(self) -> str:
        """What a message may say of it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def endpoint_from_url(sink: str, url: str, *, allows_http: bool) -> Endpoint:
    """Return whom a URL names; raise InputError where it is none, or anybody could read along."""
    place = f"sink `{sink}`: `url`"
    if not url.isascii() or not url.isprintable() or " " in url:
        raise InputError(f"{place} has characters that no address has: write them as `%20` and so")
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise InputError(f"{place} is no address: {one_line(str(error)).lower()}") from error
    host = parts.hostname
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise InputError(f"{place} is no address of a server: expected `https://HOST/PATH`")
    if parts.username is not None or parts.fragment:
        raise InputError(
            f"{place} has a user, a password or a `#`: write it without, none of it would be sent"
        )
    is_tls = parts.scheme == "https"
    if not (is_tls or allows_http or _is_loopback(host)):
        raise InputError(
            f"{place} goes to `{host}` by `http`, where anybody on the way can read it: write"
            " `https`"
        )
    return Endpoint(is_tls, host, port or (443 if is_tls else 80), _target(parts))


def _target(parts: SplitResult) -> str:
    path = parts.path or "/"
    return f"{path}?{parts.query}" if parts.query else path


def _is_loopback(host: str) -> bool:
    import ipaddress  # noqa: PLC0415 - only addresses by `http` need it

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Request(NamedTuple):
    """What is posted."""

    target: str
    headers: Mapping[str, str]
    body: bytes
    hidden: Sequence[str]
    """What no message may repeat."""


def post(sink: str, endpoint: Endpoint, request: Request, timeout_s: float, clock: Clock) -> None:
    """Post a request and return once it was taken; raise DeliveryError if it was not."""
    import ssl  # noqa: PLC0415 - only who delivers needs it
    from http.client import HTTPException  # noqa: PLC0415 - only who delivers needs it

    place = f"sink `{sink}`: `{endpoint.shown}`"
    try:
        with _connected(endpoint, _Deadline(timeout_s)) as link:
            answer = _answer(endpoint, request, link)
            if not 200 <= answer.status < 300:
                raise _refusal(place, answer, request.hidden, clock)
    except TimeoutError as error:
        raise DeliveryError(f"{place} did not answer within {timeout_s:g} s") from error
    except ssl.SSLCertVerificationError as error:
        raise DeliveryError(
            f"{place} is not who it should be: {one_line(error.verify_message).lower()}: renew its"
            " certificate, or name the authority in `SSL_CERT_FILE`",
            is_final=True,
        ) from error
    except HTTPException as error:
        raise DeliveryError(f"{place} did not answer as HTTP does: {_broken(error)}") from error
    except OSError as error:
        reason = one_line(error.strerror or str(error) or type(error).__name__).lower()
        raise DeliveryError(f"{place} cannot be reached: {reason}") from error


def _broken(error: Exception) -> str:
    hung_up = isinstance(error, ConnectionError)
    return "it closed the connection without an answer" if hung_up else "is it a web server?"


def _refusal(
    place: str, answer: HTTPResponse, hidden: Sequence[str], clock: Clock
) -> DeliveryError:
    said = _said(answer, hidden)
    hint = (
        "; redirects are not followed: write the new address into `url`"
        if 300 <= answer.status < 400
        else ""
    )
    return DeliveryError(
        f"{place} answered {answer.status}{f': `{said}`' if said else ''}{hint}",
        is_final=answer.status in _FINAL,
        retry_after_s=_retry_after(answer.headers.get("retry-after", "").strip(), clock.now()),
    )


def _said(answer: HTTPResponse, hidden: Sequence[str]) -> str:
    """Return the beginning of an answer, unless it repeats what must stay secret."""
    from http.client import HTTPException  # noqa: PLC0415 - only who delivers needs it

    try:
        text = answer.read(_MOST_ANSWER).decode("utf-8", "replace")
    except (OSError, HTTPException):
        # What it answered is known by then; how it went on is of no importance.
        return ""
    if any(each in text for each in hidden):
        return ""
    return one_line("".join(c if c.isprintable() else " " for c in text), _MOST_QUOTED)


def _retry_after(text: str, now: int) -> float | None:
    """Return how many seconds a server wants to be left alone: it says a number or a date."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few servers say it

    if text.isascii() and text.isdecimal():
        return min(float(text), _LONGEST_RETRY_AFTER_S)
    try:
        until_s = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(until_s - now / SECOND, 0.0), _LONGEST_RETRY_AFTER_S)


def _answer(endpoint: Endpoint, request: Request, link: _Link) -> HTTPResponse:
    """Send a request and return the answer, its body still to be read."""
    from http.client import HTTPConnection, HTTPResponse  # noqa: PLC0415 - only who delivers

    connection = HTTPConnection(endpoint.host, endpoint.port)
    # Where it is the usual one, the port is no part of the name that the server is asked by.
    connection.default_port = 443 if endpoint.is_tls else 80
    connection.sock = link
    headers = {"user-agent": "interlock", "connection": "close", **request.headers}
    # Who has seen enough hangs up early, and has answered then.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.request("POST", request.target, body=request.body, headers=headers)
    answer = HTTPResponse(link, method="POST")  # pyright: ignore[reportArgumentType] - all it does with a socket is to call `makefile`
    answer.begin()
    return answer


class _Deadline:
    """When everything has to be over."""

    def __init__(self, timeout_s: float) -> None:
        self._ends = time.monotonic() + timeout_s

    def left_s(self) -> float:
        """Return how much time is left, or raise TimeoutError."""
        left_s = self._ends - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s


class _Link(io.RawIOBase):
    """A connection that is over in time, however often the other side does a little."""

    def __init__(self, socket: socket.socket, deadline: _Deadline) -> None:
        self._socket = socket
        self._deadline = deadline
        self._room = _MOST_ANSWER

    def close(self) -> None:
        """Hang up."""
        super().close()
        self._socket.close()

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return what is read from it, as a file: HTTP asks a socket for that."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Tell that it can be read from."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what there is; where too much was said, it ends."""
        view = memoryview(buffer)[: self._room]
        if not view:
            return 0
        self._socket.settimeout(self._deadline.left_s())
        read = self._socket.recv_into(view)
        self._room -= read
        return read

    def sendall(self, content: bytes) -> None:
        """Send all of it."""
        rest = memoryview(content)
        while rest:
            self._socket.settimeout(self._deadline.left_s())
            rest = rest[self._socket.send(rest) :]


def _connected(endpoint: Endpoint, deadline: _Deadline) -> _Link:
    """Connect, and make sure who it is.

    Only the search for the host's address is not ended: it takes as long as the system allows.
    No proxy is asked, whatever the environment says.
    """
    import ssl  # noqa: PLC0415 - only who delivers needs it

    link = _dialled(endpoint, deadline)
    if not endpoint.is_tls:
        return _Link(link, deadline)
    try:
        link.settimeout(deadline.left_s())
        context = ssl.create_default_context()
        return _Link(context.wrap_socket(link, server_hostname=endpoint.host), deadline)
    except BaseException:
        link.close()
        raise


def _dialled(endpoint: Endpoint, deadline: _Deadline) -> socket.socket:
    """Return a connection to the first of the host's addresses that takes one."""
    import socket  # noqa: PLC0415 - only who delivers needs it

    failure = OSError("it has no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(
        endpoint.host, endpoint.port, type=socket.SOCK_STREAM
    ):
        link = socket.socket(family, kind, protocol)
        try:
            link.settimeout(deadline.left_s())
            link.connect(address)
        except OSError as error:
            link.close()
            failure = error
        else:
            return link
    raise failure
