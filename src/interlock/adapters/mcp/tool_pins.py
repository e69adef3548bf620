"""Which tools a server showed first: what each was, so that a later change is seen."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from interlock.errors import LedgerError

_SEEN: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


class ToolPin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tool was when it was first seen or last accepted."""

    digest: str
    since: int
    """In microseconds since 1970, UTC."""
    changed_to: str | None = None
    """What it is now, where that is something else and nobody has accepted it."""


class ServerPins(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of one server."""

    name: str
    tools: dict[str, ToolPin]


class PinFile:
    """The file of all pins: it is read and written as a whole, by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def servers(self) -> Mapping[str, ServerPins]:
        """Return every server that was seen, by what tells it apart."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, ServerPins])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            raise LedgerError(
                f"the pinned tools in `{self.path}` cannot be read: {error}; let a person look at"
                " the file, and remove it to pin all tools anew"
            ) from error

    def seen(self, server: str, name: str, digests: Mapping[str, str]) -> frozenset[str]:
        """Note what a server shows now; return the tools that are not what they were."""
        with self._held():
            known = dict(self.servers())
            before = known.get(server, ServerPins(name=name, tools={}))
            now = _with(before, name, digests)
            if now != before or server not in known:
                self._write({**known, server: now})
        return frozenset(each for each, pin in now.tools.items() if pin.changed_to is not None)

    def trust(self, name: str, tools: Sequence[str] = ()) -> list[str]:
        """Accept the changed tools of the servers of a name, or some of them; return which."""
        accepted: list[str] = []
        with self._held():
            known = dict(self.servers())
            for server, pins in known.items():
                if pins.name != name:
                    continue
                changed = [
                    each
                    for each, pin in pins.tools.items()
                    if pin.changed_to is not None and (not tools or each in tools)
                ]
                accepted += changed
                fresh = {each: _accepted(pins.tools[each]) for each in changed}
                known[server] = ServerPins(name=name, tools={**pins.tools, **fresh})
            if accepted:
                self._write(known)
        return accepted

    @contextmanager
    def _held(self) -> Generator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, servers: Mapping[str, ServerPins]) -> None:
        text = msgspec.json.format(msgspec.json.encode(servers), indent=1)
        beside = self.path.with_suffix(".new")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)


def server_identity(words: Sequence[str]) -> str:
    """Return what tells a server apart: its command or its address, which may hold a secret."""
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()


def tool_digest(tool: Mapping[str, object]) -> str:
    """Return what changes with everything about a tool that a model is shown."""
    shown = {each: tool[each] for each in _SEEN if each in tool}
    return hashlib.sha256(msgspec.json.encode(shown, order="sorted")).hexdigest()


def _with(before: ServerPins, name: str, digests: Mapping[str, str]) -> ServerPins:
    now = time.time_ns() // 1000
    tools = dict(before.tools)
    for tool, digest in digests.items():
        pin = tools.get(tool, ToolPin(digest=digest, since=now))
        changed = None if digest == pin.digest else digest
        tools[tool] = msgspec.structs.replace(pin, changed_to=changed)
    return ServerPins(name=name, tools=tools)


def _accepted(pin: ToolPin) -> ToolPin:
    return ToolPin(digest=pin.changed_to or pin.digest, since=time.time_ns() // 1000)
