"""Hooks of clients that send them over HTTP, where they need no process of their own."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock import processes
from interlock.model.hook import HookCall
from interlock.model.principal import Scope
from interlock.server.access.identity import Identity, is_agent
from interlock.server.access.peer import is_of_this_machine, pids_at
from interlock.server.desk.endpoint import Call, Endpoint
from interlock.server.hooks.session_runs import Asker
from interlock.server.wire.http_message import Scope as AsgiScope
from interlock.server.wire.http_message import header
from interlock.server.wire.problem import Refused
from interlock.service.records.runs import ELSEWHERE

_ATTENDED: Final = "CLAUDE_CODE_SESSION_ATTENDED"


async def _answer(call: Call) -> msgspec.Raw | None:
    """Answer a hook as its client understands it; with an error where that is a no as well."""
    who, asked = (
        call.who,
        HookCall(
            hook=call.params["client"],
            env={_ATTENDED: header(call.request, b"interlock-attended")},
            payload=msgspec.Raw(call.body),
        ),
    )
    if not is_agent(who):
        raise Refused(403, f"`{who.name}` is no agent: make a token with `interlock token`")
    asker = Asker(lambda: _process(who, call.request), who.principal)
    reply = await call.desk.hooks.reply(asked, asker)
    if reply.code:
        raise Refused(422, reply.stderr.decode("utf-8", "replace").strip())
    return msgspec.Raw(reply.stdout) if reply.stdout else None


def _process(who: Identity, request: AsgiScope) -> str:
    """Return what names the client: the process at the other end, where it is of this machine."""
    if who.peer is not None:
        return processes.process_name(who.peer.pid)
    client, server = request.get("client"), request.get("server")
    if not client or not server or not is_of_this_machine(client, server):
        return ELSEWHERE
    found = pids_at(client, server) or ()
    return processes.process_name(found[0]) if len(found) == 1 else ELSEWHERE


HOOK_ENDPOINTS: Final = (
    Endpoint(
        method="POST",
        path="/v1/hooks/{client}",
        scope=Scope.AGENT,
        summary="What an agent's client sends to its hooks, answered in its own words",
        perform=_answer,
        answer=dict[str, object],
    ),
)
