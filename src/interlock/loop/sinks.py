"""Where events of the loop go besides webhooks: Inngest, and a file of alerts.

A sink delivers or raises DeliveryError.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote

import msgspec

from interlock.descriptors import opened
from interlock.model.system_loop import CloudEvent
from interlock.policy.config.complaints import as_clause
from interlock.ports import Clock
from interlock.service.webhooks import DeliveryError, Request, endpoint_from_url, post, variable

_ALERTS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Sink(Protocol):
    """Somebody who gets events."""

    @property
    def name(self) -> str:
        """What the policy and the record call it."""
        ...

    def deliver(self, event: CloudEvent, attempt: int) -> None:
        """Hand an event over, or raise DeliveryError; attempts count from 1."""
        ...


class InngestSink:
    """The event API of an Inngest server; events of the same id start one run there."""

    def __init__(
        self,
        *,
        name: str,
        url: str,
        key_variable: str,
        timeout_s: float,
        clock: Clock,
        allows_http: bool = False,
    ) -> None:
        self.name = name
        self._endpoint = endpoint_from_url(name, url, allows_http=allows_http)
        self._key_variable = key_variable
        self._timeout_s = timeout_s
        self._clock = clock

    def deliver(self, event: CloudEvent, attempt: int) -> None:
        """Send an event."""
        from datetime import UTC, datetime, timedelta  # noqa: PLC0415 - only who delivers needs it

        key = quote(os.fsencode(plain_key := variable(self.name, self._key_variable)), safe="")
        occurred = datetime.fromisoformat(event.time) - datetime(1970, 1, 1, tzinfo=UTC)
        payload = {
            "id": event.id,
            "name": event.type,
            # Whoever answers hands it back: chains are as short through Inngest as without.
            "data": {**event.data, "causationdepth": event.causationdepth},
            "ts": occurred // timedelta(milliseconds=1),
        }
        request = Request(
            target=f"{self._endpoint.target.rstrip('/')}/e/{key}",
            headers={"content-type": "application/json", "interlock-attempt": str(attempt)},
            body=msgspec.json.encode(payload),
            hidden=(key, plain_key),
        )
        post(self.name, self._endpoint, request, self._timeout_s, self._clock)


class AlertLog:
    """A file that gets a line of JSON for each alert; without one, standard error gets it."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def write(self, alert: Mapping[str, object]) -> None:
        """Write one alert, whole or not at all for whoever reads line by line."""
        import json  # noqa: PLC0415 - only who writes alerts needs it

        # Whatever is not ASCII is escaped: its text comes from anywhere, and a terminal obeys.
        line = json.dumps(dict(alert), separators=(",", ":"), allow_nan=False).replace(
            "\x7f", "\\u007f"
        )
        try:
            self._append(f"{line}\n".encode())
        except OSError as error:
            raise DeliveryError(
                f"alerts: cannot write to `{self._path or 'standard error'}`:"
                f" {as_clause(error.strerror or str(error))}"
            ) from error

    def _append(self, line: bytes) -> None:
        if self._path is None:
            _write_whole(2, line)
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with opened(self._path, _ALERTS) as file:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            # Others that write their alerts there are waited for; they take no time.
            fcntl.flock(file, fcntl.LOCK_EX)
            size = os.fstat(file).st_size
            # A full disk may have cut the line before: it must not spoil this one.
            is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            _write_whole(file, b"\n" + line if is_torn else line)
            os.fsync(file)


def _write_whole(file: int, line: bytes) -> None:
    if os.write(file, line) < len(line):
        raise OSError(errno.ENOSPC, "only a part was written")
