"""How a browser comes in: a link that opens once, and the cookie that it leaves with."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, NamedTuple

from interlock.ports import Clock
from interlock.server.access.identity import cookie_name
from interlock.server.wire.http_message import Scope as AsgiScope
from interlock.service.people.credentials import SESSION_S

LINK_S: Final = 10 * 60
"""How long a link can be opened."""
_MOST_LINKS: Final = 100


class _Link(NamedTuple):
    token: str
    """Whose session it opens; empty where it leads to making the first operator."""
    until: int


class Links:
    """The links that were given out and not opened yet; each opens once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, _Link] = {}

    def new(self, token: str) -> str:
        """Return the secret part of a new link."""
        now = self._clock.now()
        self._open = {
            key: link for key, link in list(self._open.items())[-_MOST_LINKS:] if link.until > now
        }
        code = secrets.token_urlsafe(24)
        self._open[_digest(code)] = _Link(token, now + LINK_S * 1_000_000)
        return code

    def opened(self, code: str) -> str | None:
        """Return the token that a link stands for, this once; None where it opens nothing."""
        link = self._open.pop(_digest(code), None)
        return None if link is None or link.until <= self._clock.now() else link.token


def session_cookie(scope: AsgiScope, session: str) -> tuple[str, str]:
    """Return the header that leaves a session with a browser; an empty one takes it away."""
    age = SESSION_S if session else 0
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    value = f"{cookie_name(scope)}={session}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"
    return "set-cookie", f"{value}{secure}"


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
