"""Who may ask: the tokens of programs, and links that open the console once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.errors import UnavailableError
from interlock.model.access import Token
from interlock.model.entrance import entrance
from interlock.model.principal import Scope
from interlock.server.access.sign_in import LINK_S
from interlock.server.desk.endpoint import Call, Endpoint
from interlock.service.operations import Operations
from interlock.service.people.operators import proven


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token that is shown this once."""

    token: str


class ConsoleLink(msgspec.Struct, frozen=True, kw_only=True):
    """What opens the console once, as whoever asked for it."""

    url: str
    seconds: int
    """How long it can be opened."""


async def _tokens(call: Call) -> Sequence[Token]:
    return await call.words.tokens()


async def _add(call: Call) -> NewToken:
    return NewToken(token=await call.prove(call.words.add_token))


async def _revoke(call: Call) -> None:
    await call.prove(call.words.revoke_token, call.params["credential"])
    # Whoever is told that it is gone may rely on it.
    await call.look(call.desk.doorkeeper.refresh)


@entrance
async def nothing(call: Call) -> None:
    """Take nothing: who asks says it all."""


async def _link(call: Call) -> ConsoleLink:
    """Return a link that signs whoever opens it in, once, as whoever asks."""
    await call.say(nothing, call)
    desk = call.desk
    await call.look(lambda: proven(desk.governor.context, call.who.token, "open the console"))
    if desk.listening is None or desk.listening.url is None:
        raise UnavailableError("this server listens on its socket only: browsers cannot ask it")
    code = desk.links.new(call.who.token)
    return ConsoleLink(url=f"{desk.listening.url}/enter?code={code}", seconds=LINK_S)


ACCESS_ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/v1/tokens",
        scope=Scope.ADMIN,
        summary="The tokens of programs, by what the record calls them",
        perform=_tokens,
        answer=list[Token],
    ),
    Endpoint(
        method="POST",
        path="/v1/tokens",
        scope=Scope.ADMIN,
        summary="Make a token for a program; it is shown this once",
        perform=_add,
        body=Operations.add_token,
        given=("token",),
        answer=NewToken,
        status=201,
        decides=True,
    ),
    Endpoint(
        method="DELETE",
        path="/v1/tokens/{credential}",
        scope=Scope.ADMIN,
        summary="Let a token of a program go",
        perform=_revoke,
        decides=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/links",
        scope=Scope.OPERATOR,
        summary="Make a link that opens the console once",
        perform=_link,
        body=nothing,
        given=("call",),
        answer=ConsoleLink,
        status=201,
        decides=True,
    ),
)
