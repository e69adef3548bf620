"""Every request over HTTP, counted, timed and told of in the log under its id."""

from __future__ import annotations

import logging
import time
from typing import Any, Final, Protocol

from interlock.server.telemetry.metrics import Metrics
from interlock.server.wire import Message, Receiver, Scope, Sender

_log: Final = logging.getLogger("interlock.requests")
_ACTIONS: Final = ("/v1/runs/", "/actions", "/v1/runs/{run}/actions")
_UNKNOWN: Final = "other"
_NO_STATUS: Final = 0
_NOT_FOUND: Final = 404


class Application(Protocol):
    """Whoever answers requests."""

    async def __call__(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        """Answer one."""
        ...


class ObservedApplication:
    """An application whose answers are counted."""

    def __init__(self, application: Application, metrics: Metrics) -> None:
        self._application = application
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        """Answer one request, and note how that went."""
        begun, sender = time.perf_counter(), _Sender(send)
        try:
            await self._application(scope, receive, sender)
        finally:
            if scope["type"] == "http":
                self._note(scope, sender, time.perf_counter() - begun)

    def _note(self, scope: Scope, sender: _Sender, seconds: float) -> None:
        method, route = str(scope["method"]), _route(scope, sender.status)
        self._metrics.note_request(method, route, sender.status, seconds)
        if _log.isEnabledFor(logging.INFO):
            fields: dict[str, Any] = {
                "request_id": sender.request_id,
                "method": method,
                "route": route,
                "status": sender.status,
                "milliseconds": round(seconds * 1000, 3),
            }
            _log.info("answered", extra={"fields": fields})


class _Sender:
    """What is sent, seen on its way."""

    def __init__(self, send: Sender) -> None:
        self._send = send
        self.status = _NO_STATUS
        self.request_id = ""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            found = dict(message["headers"]).get(b"x-request-id", b"")
            self.request_id = found.decode("latin-1")
        await self._send(message)


def _route(scope: Scope, status: int) -> str:
    """Return the path with names in place of ids: there are few of those."""
    path = str(scope["path"])
    begin, end, named = _ACTIONS
    if path.startswith(begin) and path.endswith(end):
        return named
    if "path_params" not in scope or status == _NOT_FOUND:
        return _UNKNOWN
    for name, value in scope["path_params"].items():
        path = path.replace(f"/{value}", f"/{{{name}}}", 1)
    return path
