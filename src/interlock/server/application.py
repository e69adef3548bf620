"""The ASGI application: every request comes in here, and every failure goes out in one shape."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Sequence
from itertools import count
from typing import Final

from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route, Router

from interlock.errors import InterlockError
from interlock.model.principal import Scope as Rights
from interlock.server.access.identity import EVERYBODY, Identity, require_scope
from interlock.server.console.console import Console
from interlock.server.desk.desk import Desk
from interlock.server.desk.endpoint import (
    NO_CONTENT,
    Call,
    Endpoint,
    PlainText,
    Streamed,
    query_of,
)
from interlock.server.desk.question_lane import LongWay, Plain
from interlock.server.desk.repeats import Asked
from interlock.server.telemetry.logs import REQUEST_ID
from interlock.server.wire.http_message import (
    Message,
    Receiver,
    Scope,
    Sender,
    header,
    json_bytes,
    json_table,
    send_answer,
    whole_body,
)
from interlock.server.wire.problem import Refused, problem_of

_LOG: Final = logging.getLogger("interlock.server")
_REQUEST_LOG: Final = logging.getLogger("interlock.requests")
_PROBLEM: Final = "application/problem+json"
_SAFE: Final = ("GET", "HEAD")
_LONGEST_QUERY: Final = 8_192
_HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self';"
        b" connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_PLAIN_HEADERS: Final = ((b"x-content-type-options", b"nosniff"),)
"""What is no page needs no more."""
_JSON: Final = (b"content-type", b"application/json")
_NO_STATUS: Final = 0
_ELSEWHERE: Final = "other"
_PROCESS: Final = secrets.token_hex(4)
_REQUESTS: Final = count(1)
_NOT_KEPT: Final = (b"cache-control", b"no-store")


class Application:
    """Finds who answers; and sees to what holds for every answer."""

    def __init__(
        self, desk: Desk, endpoints: Sequence[Endpoint], *, hosts: Sequence[str] = ()
    ) -> None:
        self._desk = desk
        self._hosts = frozenset((*_LOOPBACK, *hosts))
        self._console = Console(desk)
        routes = [
            Route(each.path, _Handler(desk, each), methods=[each.method]) for each in endpoints
        ]
        self._router = Router([*routes, *self._console.routes], redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        """Answer one request, and note how that went."""
        begun = time.perf_counter()
        is_programs = scope["path"].startswith(_PROGRAMS)
        outgoing = _Outgoing(send, _PLAIN_HEADERS if is_programs else _HEADERS)
        try:
            self._check(scope)
            answer = await self._shortly(scope, receive)
            if answer is None:
                scope["app"] = self
                REQUEST_ID.set(outgoing.request_id)
                await self._at_length(scope, receive, outgoing)
            else:
                await outgoing.send_plain(answer)
        except Exception as error:  # noqa: BLE001 - whatever fails is answered
            await self._tell(error, scope, outgoing)
        finally:
            self._note(scope, outgoing, time.perf_counter() - begun)

    async def _at_length(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        if scope["method"] == "OPTIONS":
            await self._say_methods(scope, send)
        else:
            body = scope["state"].get("body")
            await self._router(scope, receive if body is None else _sent_again(body), send)

    def _check(self, scope: Scope) -> None:
        """Raise Refused for what is no request to this server."""
        if len(scope["query_string"]) > _LONGEST_QUERY:
            raise Refused(400, f"the query is longer than {_LONGEST_QUERY:,} bytes")
        if scope["state"].get("peer") is not None:
            return
        host = header(scope, b"host")
        name = host.rpartition(":")[0] or host
        if name.lower() not in self._hosts:
            # A page elsewhere may have its name point here: its browser then sends that name.
            raise Refused(421, f"this server is not `{name[:100]}`: ask it by its own name")

    async def _say_methods(self, scope: Scope, send: Sender) -> None:
        """Say how an address can be asked for; no other site may, so there is no more to say."""
        allowed = self._methods(scope)
        if len(allowed) == 1:
            raise Refused(404, "there is nothing at this address")
        await send_answer(send, NO_CONTENT, b"", headers=(("allow", ", ".join(sorted(allowed))),))

    async def _shortly(self, scope: Scope, receive: Receiver) -> bytes | None:
        """Answer a plain question of an agent that is known; return None for everything else."""
        path: str = scope["path"]
        if not (path.startswith(_RUNS) and path.endswith(_ACTIONS)) or scope["method"] != "POST":
            return None
        desk = self._desk
        run = desk.governor.known(path[len(_RUNS) : -len(_ACTIONS)])
        who = None if run is None else desk.doorkeeper.known_agent(scope)
        if run is None or who is None or not desk.doorkeeper.is_known_own(who, run.agent):
            return None
        check_rate(desk, who)
        key = header(scope, b"idempotency-key") or None
        if scope["state"].get("is_whole"):
            body: bytes = (await receive()).get("body", b"")
        else:
            body = await whole_body(receive)
        try:
            return await desk.lane.answer(Plain(run.id, who.principal, key, body))
        except LongWay:
            scope["state"]["body"] = body
            return None

    def _note(self, scope: Scope, sent: _Outgoing, seconds: float) -> None:
        """Count a request, and tell of it in the log under its id."""
        method, route = str(scope["method"]), _route(scope, sent.status)
        self._desk.metrics.note_request(method, route, sent.status, seconds)
        if _REQUEST_LOG.isEnabledFor(logging.INFO):
            fields: dict[str, object] = {
                "request_id": sent.request_id,
                "method": method,
                "route": route,
                "status": sent.status,
                "milliseconds": round(seconds * 1000, 3),
            }
            _REQUEST_LOG.info("answered", extra={"fields": fields})

    async def _tell(self, error: Exception, scope: Scope, outgoing: _Outgoing) -> None:
        error = self._refusal(error, scope)
        told = problem_of(error, outgoing.request_id)
        if not isinstance(error, (Refused, InterlockError)):
            _LOG.exception("request %s failed", outgoing.request_id, exc_info=error)
        if outgoing.status:
            raise error
        headers = error.headers if isinstance(error, Refused) else ()
        if told.status == 503:
            headers = (*headers, ("retry-after", "1"))
        if scope["path"].startswith(_PROGRAMS):
            await send_answer(outgoing, told.status, json_bytes(told), _PROBLEM, headers)
        else:
            await self._console.tell(scope, outgoing, told, headers)

    def _refusal(self, error: Exception, scope: Scope) -> Exception:
        """Return what a router says of a path or a method, as everything else is said."""
        if not isinstance(error, HTTPException):
            return error
        if error.status_code == 404:
            return Refused(404, "there is nothing at this address")
        allowed = ", ".join(sorted(self._methods(scope)))
        return Refused(error.status_code, f"expected {allowed}", (("allow", allowed),))

    def _methods(self, scope: Scope) -> set[str]:
        """Return how what stands at an address can be asked for."""
        found = {"OPTIONS"}
        for route in self._router.routes:
            if isinstance(route, Route) and route.matches(scope)[0] is not Match.NONE:
                found |= route.methods or set()
        return found


_RUNS: Final = "/v1/runs/"
_ACTIONS: Final = "/actions"
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_PROGRAMS: Final = ("/v1/", "/healthz", "/readyz", "/metrics")


def _route(scope: Scope, status: int) -> str:
    """Return the path with names in place of ids: there are few of those."""
    path: str = scope["path"]
    if path.startswith(_RUNS) and path.endswith(_ACTIONS):
        return f"{_RUNS}{{run}}{_ACTIONS}"
    if "path_params" not in scope or status == 404:
        return _ELSEWHERE
    for name, value in scope["path_params"].items():
        path = path.replace(f"/{value}", f"/{{{name}}}", 1)
    return path


class _Outgoing:
    """What is sent, with the headers that every answer has."""

    def __init__(self, send: Sender, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self._send = send
        self._headers = headers
        self.request_id = f"{_PROCESS}{next(_REQUESTS):08x}"
        self.status = _NO_STATUS
        """What was answered, once that has begun."""

    async def send_plain(self, body: bytes) -> None:
        """Send what was asked shortly: nobody else has a say in it."""
        self.status = 200
        headers = [
            _JSON,
            (b"content-length", b"%d" % len(body)),
            _NOT_KEPT,
            *_PLAIN_HEADERS,
            (b"x-request-id", self.request_id.encode()),
        ]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = list(message["headers"])
            if not any(name == b"cache-control" for name, _ in own):
                own.append(_NOT_KEPT)
            message["headers"] = [*own, *self._headers, (b"x-request-id", self.request_id.encode())]
        await self._send(message)


class _Handler:
    """Answers what one endpoint is for."""

    def __init__(self, desk: Desk, endpoint: Endpoint) -> None:
        self._desk = desk
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        endpoint, desk = self._endpoint, self._desk
        who = await admitted(desk, scope, endpoint)
        query = query_of(endpoint, scope["query_string"].decode("latin-1"))
        body = b"" if scope["method"] in _SAFE else await whole_body(receive)
        key = header(scope, b"idempotency-key") or None
        call = Call(
            desk=desk,
            who=who,
            params=scope["path_params"],
            query=query,
            table=json_table(body, header(scope, b"content-type")),
            body=body,
            key=key,
            request=scope,
            last_event=header(scope, b"last-event-id"),
        )
        if key is None or scope["method"] in _SAFE:
            answer = await endpoint.perform(call)
        elif endpoint.keyed:
            answer = await endpoint.perform(_keyed(call, key))
        else:
            # Nobody is called "", so whoever shows no credential is told nobody else's answers.
            name = who.name if who.principal is not None else ""
            asked = Asked(f"{who.scope.value}/{name}", scope["method"], scope["path"], key)
            answer = await desk.repeats.once(asked, body, lambda: endpoint.perform(call))
        if isinstance(answer, Streamed):
            await answer.send(receive, send)
            return
        if isinstance(answer, PlainText):
            await send_answer(send, 200, answer.text.encode(), answer.content_type)
            return
        status = NO_CONTENT if answer is None else endpoint.status
        await send_answer(send, status, b"" if answer is None else json_bytes(answer))


def _keyed(call: Call, key: str) -> Call:
    """Return a request whose word is told its key; one that stands in the body counts."""
    is_told = call.table.get("key") is not None
    return call if is_told else replace(call, table={**call.table, "key": key})


async def admitted(desk: Desk, scope: Scope, endpoint: Endpoint) -> Identity:
    """Return who asks, if they may ask this; raise Refused if not."""
    if endpoint.scope is None:
        return EVERYBODY
    who = await desk.driver.outside(lambda: desk.doorkeeper.identity(scope))
    if not (endpoint.agents and who.scope is Rights.AGENT):
        require_scope(who, endpoint.scope)
    if who.has_cookie and scope["method"] not in _SAFE:
        raise Refused(403, "what a browser changes comes from a page: programs send a token")
    check_rate(desk, who)
    if endpoint.decides:
        await desk.driver.outside(lambda: desk.doorkeeper.refuse_governed(who, scope))
    return who


def check_rate(desk: Desk, who: Identity) -> None:
    """Raise Refused where somebody asks more often than anybody needs to."""
    wait_s = desk.rate.wait_s(who.token) if who.token else 0.0
    if wait_s:
        raise Refused(
            429,
            f"`{who.name}` asks too often: wait {wait_s:.2f} seconds",
            (("retry-after", str(int(wait_s) + 1)),),
        )


def _sent_again(body: bytes) -> Receiver:
    """Return what receives a body that was read already."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
