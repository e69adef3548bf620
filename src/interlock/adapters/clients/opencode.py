"""opencode: it has no hooks for other programs, so a plugin that Interlock brings speaks for it.

What the two say to each other is ours: `opencode_plugin.js` is the other side of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from interlock.adapters.clients.client_dialect import ClientDialect, json_reply
from interlock.adapters.clients.client_event import MOST_TASK, ClientEvent, Occasion, payload_of
from interlock.adapters.clients.reaction import Course, Reaction
from interlock.errors import InputError
from interlock.model.budget import TokenUsage
from interlock.model.hook import REFUSED, HookCall, HookReply, HookSession, ModelCall

_NAME: Final = "opencode"
_OCCASIONS: Final[Mapping[str, Occasion]] = {
    "call": Occasion.CALL,
    "seen": Occasion.SEEN,
    "prompt": Occasion.PROMPT,
    "stop": Occasion.STOP,
    "compact": Occasion.FORGETTING,
    "ended": Occasion.ENDED,
}
_DECISIONS: Final = {
    Course.GO_ON: "allow",
    Course.REFUSE: "deny",
    Course.ASK: "deny",
    Course.HALT: "halt",
    Course.CONTINUE: "continue",
}


class _Used(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    model: str | None = None
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class _Payload(msgspec.Struct, frozen=True, kw_only=True):
    """What the plugin says."""

    opencode: Literal["call", "seen", "prompt", "stop", "compact", "ended"] | None = None
    session: str = ""
    parent: str | None = None
    directory: str | None = None
    tool: str = ""
    call: str | None = None
    args: dict[str, object] = {}
    output: str | None = None
    exit_code: int | None = None
    is_failed: bool = False
    text: str | None = None
    finish: str | None = None
    used: tuple[_Used, ...] = ()
    own_session: str = msgspec.field(default="", name="sessionID")
    """As opencode says it to its plugins, and another plugin may pass it on."""
    own_call: str | None = msgspec.field(default=None, name="callID")

    @property
    def occasion(self) -> Occasion:
        """When it is said; what another plugin passes on about a tool is asked about."""
        if self.opencode is not None:
            return _OCCASIONS[self.opencode]
        if not self.tool:
            return Occasion.OTHER
        return Occasion.CALL if self.output is None else Occasion.SEEN


class Opencode(ClientDialect):
    """Reads and writes what the plugin understands."""

    def event(self, call: HookCall) -> ClientEvent:
        """Return what it says."""
        payload = payload_of(call, _Payload)
        if not payload.session and not payload.own_session:
            raise InputError("the payload of the hook names no session")
        occasion = payload.occasion
        if occasion is Occasion.PROMPT and payload.parent is not None:
            occasion = Occasion.OTHER
        seen: dict[str, object] = {"output": payload.output or ""}
        if payload.exit_code is None:
            seen["outcome"] = "failed" if payload.is_failed else "ok"
        else:
            seen["exit_code"] = payload.exit_code
        return ClientEvent(
            occasion=occasion,
            session=_session(payload),
            is_sub_agent=payload.parent is not None,
            tool=payload.tool,
            params=payload.args,
            key=payload.call or payload.own_call,
            seen=seen,
            text=payload.text,
            fields={} if payload.finish is None else {"finish_reason": payload.finish},
        )

    def say(self, event: ClientEvent, reaction: Reaction) -> HookReply:
        """Return a reaction as the plugin understands it: it takes nothing else for a yes."""
        said = json_reply({"decision": _DECISIONS[reaction.course], "reason": reaction.reason})
        if not event.occasion.is_decided or reaction.course is Course.GO_ON:
            return said
        # Whoever only looks at the exit code must not take it for a yes either.
        return HookReply(REFUSED, said.stdout, f"{reaction.reason}\n".encode("utf-8", "replace"))

    def used(self, call: HookCall) -> Sequence[ModelCall]:
        """Return what the plugin heard of models."""
        return [
            ModelCall(
                key=each.id,
                usage=TokenUsage(
                    input_tokens=each.input + each.cache_read + each.cache_write,
                    output_tokens=each.output,
                    cache_read_tokens=each.cache_read,
                    cache_write_tokens=each.cache_write,
                ),
                model=each.model,
            )
            for each in payload_of(call, _Payload).used
        ]


def _session(payload: _Payload) -> HookSession:
    is_prompt = payload.opencode == "prompt"
    above = None
    if payload.parent is not None:
        above = HookSession(
            client=_NAME, id=payload.parent, agent=_NAME, workspace=payload.directory
        )
    return HookSession(
        client=_NAME,
        id=payload.session or payload.own_session,
        agent=_NAME if above is None else f"{_NAME}/subagent",
        task=(payload.text or "")[:MOST_TASK] if is_prompt else "",
        workspace=payload.directory,
        above=above,
    )
