"""Who asks: by a token, by the cookie of a browser that signed in, or by their process."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Final, NamedTuple

from interlock.errors import NotPermittedError
from interlock.ledger.ledger import Ledger
from interlock.model.principal import Principal, PrincipalKind, Scope
from interlock.model.run import LEDGER_RUN
from interlock.ports import Clock
from interlock.server.access.peer import HAS_TABLES, Peer, is_of_this_machine, pids_at
from interlock.server.wire.http_message import Scope as AsgiScope
from interlock.server.wire.http_message import header
from interlock.server.wire.problem import Refused
from interlock.service.people.credentials import Authentication, authenticated
from interlock.service.people.operators import refuse_descendants, token_names

_MOST_KNOWN: Final = 4096
_BEARER: Final = "bearer "
_COOKIE: Final = "interlock"
_HOST_COOKIE: Final = "__Host-interlock"
_TO_SIGN_IN: Final = (("www-authenticate", 'Bearer realm="interlock"'),)


class Identity(NamedTuple):
    """Whoever asks, and what they may."""

    scope: Scope
    principal: Principal | None
    """None where an agent showed no credential: then each run is asked for by its own."""
    token: str = ""
    """What they showed."""
    has_cookie: bool = False
    """A browser sends it by itself: what it changes has to come from a page of ours."""
    peer: Peer | None = None

    @property
    def name(self) -> str:
        """What they are called."""
        return "agent" if self.principal is None else self.principal.name

    @property
    def csrf(self) -> str:
        """What every form of this session carries."""
        return hmac.new(self.token.encode(), b"csrf", hashlib.sha256).hexdigest()


EVERYBODY: Final = Identity(Scope.VIEWER, None)
"""Whoever is not asked who they are."""


class Doorkeeper:
    """Knows whose credential is shown; asked for each request."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._known: dict[str, Authentication] = {}
        self._seen = 0
        self._agents: frozenset[str] | None = None
        """The agents that ever had tokens, once that was looked up."""

    def refresh(self) -> None:
        """Look at credentials again once any of them changed."""
        own = self._ledger.rows.run(LEDGER_RUN)
        seen, self._seen = self._seen, 0 if own is None else own.seq
        if seen != self._seen:
            self._known.clear()
            self._agents = None

    def is_own(self, who: Identity, agent: str) -> bool:
        """Whether a run of such an agent is that of an agent who asks.

        Whoever shows no credential has the runs of all agents that never had one.
        """
        if who.principal is not None:
            return who.principal.name == agent
        if self._agents is None:
            self._agents = token_names(self._ledger)
        return agent not in self._agents

    def is_known_own(self, who: Identity, agent: str) -> bool:
        """Whether it is, where that can be said without looking into the ledger."""
        is_known = who.principal is not None or self._agents is not None
        return is_known and self.is_own(who, agent)

    def identity(self, scope: AsgiScope) -> Identity:
        """Return who asks; raise Refused where nobody can tell. It may look into the ledger."""
        peer: Peer | None = scope["state"].get("peer")
        if peer is not None and peer.uid not in (os.getuid(), 0):
            raise Refused(403, f"this socket is of user {os.getuid()}, not of user {peer.uid}")
        token, has_cookie = shown_credential(scope)
        if token:
            shown = self.shown(token)
            return Identity(shown.scope, shown.principal, token, has_cookie, peer)
        if peer is not None:
            return Identity(Scope.AGENT, None, peer=peer)
        raise Refused(
            401,
            "no credential was shown: send `Authorization: Bearer TOKEN`, or sign in at /login",
            _TO_SIGN_IN,
        )

    def known_agent(self, scope: AsgiScope) -> Identity | None:
        """Return an agent that is known already; None where that has to be looked up."""
        peer: Peer | None = scope["state"].get("peer")
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        if not given:
            is_own = peer is not None and peer.uid == os.getuid()
            return Identity(Scope.AGENT, None, peer=peer) if is_own else None
        token = given[len(_BEARER) :].decode("latin-1")
        known = self._known.get(token)
        if known is None or known.scope is not Scope.AGENT:
            return None
        return Identity(Scope.AGENT, known.principal, token, peer=peer)

    def shown(self, token: str) -> Authentication:
        """Return whose credential it is."""
        known = self._known.get(token)
        if known is None:
            try:
                known = authenticated(self._ledger, token, self._clock.now())
            except NotPermittedError as error:
                raise Refused(401, str(error), _TO_SIGN_IN) from None
            if known.method.value != "session":
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[token] = known
        return known

    def refuse_governed(self, who: Identity, scope: AsgiScope) -> None:
        """Raise NotPermittedError where the process that asks descends from a governed run's."""
        if who.peer is not None:
            refuse_descendants(self._ledger.rows, who.peer.pid)
            return
        client, server = scope.get("client"), scope.get("server")
        if client and server and is_of_this_machine(client, server):
            found = pids_at(client, server)
            if found is not None and not found and HAS_TABLES:
                raise Refused(403, "no process holds the other end of this connection")
            for pid in found or ():
                refuse_descendants(self._ledger.rows, pid)


def require_scope(who: Identity, needed: Scope) -> None:
    """Raise Refused where somebody may not do what needs this scope."""
    if not who.scope.covers(needed):
        raise Refused(
            403,
            f"`{who.name}` has the scope `{who.scope.value}`, this needs `{needed.value}`",
        )


def is_agent(who: Identity) -> bool:
    """Whether it is an agent that asks, with or without a credential."""
    return who.principal is None or who.principal.kind is PrincipalKind.AGENT


def shown_credential(scope: AsgiScope) -> tuple[str, bool]:
    """Return the token that is shown, and whether a browser sent it as a cookie."""
    given = header(scope, b"authorization")
    if given:
        if not given.lower().startswith(_BEARER):
            raise Refused(401, "`Authorization` is not `Bearer TOKEN`", _TO_SIGN_IN)
        return given[len(_BEARER) :].strip(), False
    return cookie(scope, cookie_name(scope)), True


def cookie_name(scope: AsgiScope) -> str:
    """Return what the cookie of a session is called: under TLS no other host can set it."""
    return _HOST_COOKIE if scope.get("scheme") == "https" else _COOKIE


def cookie(scope: AsgiScope, name: str) -> str:
    """Return a cookie of a request; of two with one name, none."""
    found = [
        value
        for each, value in scope["headers"]
        if each == b"cookie"
        for part in value.decode("latin-1").split(";")
        for key, _, value in [part.strip().partition("=")]
        if key == name
    ]
    return found[0] if len(found) == 1 else ""
