"""What Claude Code writes to its hooks, and others in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from interlock.adapters.clients.client_event import MOST_TASK, ClientEvent, Occasion, text_of
from interlock.model.hook import HookSession

_SUB: Final = "subagent"

OCCASIONS: Final[Mapping[str, Occasion]] = {
    "PreToolUse": Occasion.CALL,
    "PostToolUse": Occasion.SEEN,
    "PostToolUseFailure": Occasion.SEEN,
    "UserPromptSubmit": Occasion.PROMPT,
    "SessionStart": Occasion.BEGAN,
    "SessionEnd": Occasion.ENDED,
    "Stop": Occasion.STOP,
    "SubagentStop": Occasion.STOP,
    "PreCompact": Occasion.FORGETTING,
}
_PEOPLE: Final = frozenset((None, "user", "sdk"))
"""Where a prompt comes from that somebody wrote: not from a timer of the client's own."""


class ClaudePayload(msgspec.Struct, frozen=True, kw_only=True):
    """As much of it as anything follows from; what a version adds is left alone."""

    session_id: str
    hook_event_name: str
    cwd: str | None = None
    transcript_path: str | None = None
    timestamp: int | str = 0
    """Told by those alone who speak like it."""
    permission_mode: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    agent_transcript_path: str | None = None
    model: str | None = None
    tool_name: str = ""
    tool_input: dict[str, object] | str = {}
    tool_use_id: str | None = None
    tool_response: object = None
    tool_result: object = None
    """What Copilot calls the same."""
    error: str | None = None
    duration_ms: float | None = None
    prompt: str | None = None
    source: str | None = None
    last_assistant_message: str | None = None
    background_tasks: tuple[dict[str, object], ...] = ()


def event_of(payload: ClaudePayload, client: str) -> ClientEvent:
    """Return what a client says, in the words of all."""
    occasion = OCCASIONS.get(payload.hook_event_name, Occasion.OTHER)
    is_sub_agent = payload.agent_id is not None
    if occasion is Occasion.PROMPT and (is_sub_agent or payload.source not in _PEOPLE):
        # What an agent tells its sub-agent is a prompt as well, and no person's.
        occasion = Occasion.OTHER
    return ClientEvent(
        occasion=occasion,
        session=session_of(payload, client),
        is_sub_agent=is_sub_agent,
        tool=payload.tool_name,
        params=payload.tool_input,
        key=payload.tool_use_id,
        seen=_seen(payload),
        text=payload.prompt if occasion is Occasion.PROMPT else payload.last_assistant_message,
        fields=_at_the_end(payload),
    )


def session_of(payload: ClaudePayload, client: str) -> HookSession:
    """Return the session, or that of a sub-agent below it."""
    main = HookSession(
        client=client,
        id=payload.session_id,
        agent=client,
        task=(payload.prompt or "")[:MOST_TASK],
        workspace=payload.cwd,
    )
    if payload.agent_id is None:
        return main
    kind = payload.agent_type or _SUB
    return HookSession(
        client=client,
        id=f"{payload.session_id}/{payload.agent_id}",
        agent=f"{client}/{kind}",
        task=f"sub-agent {kind} of {client} session {payload.session_id}",
        workspace=payload.cwd,
        above=main,
    )


def _seen(payload: ClaudePayload) -> Mapping[str, object]:
    """Return what a call came to."""
    if payload.error is not None:
        seen: dict[str, object] = {"outcome": "failed", "output": payload.error}
    else:
        said = payload.tool_response if payload.tool_result is None else payload.tool_result
        seen = {"outcome": _outcome(said), "output": text_of(said)}
    if payload.duration_ms is not None:
        seen["duration_ms"] = max(0, round(payload.duration_ms))
    return seen


def _outcome(said: object) -> str:
    match said:
        case {"interrupted": True} | {"isError": True} | {"is_error": True}:
            return "failed"
        case _:
            return "ok"


def _at_the_end(payload: ClaudePayload) -> Mapping[str, object]:
    # These hooks are called where the model ended its turn, not where its provider failed.
    fields: dict[str, object] = {"finish_reason": "stop"}
    if payload.model is not None:
        fields["model"] = payload.model
    busy = [
        str(each.get("description") or each.get("id") or _SUB)
        for each in payload.background_tasks
        if each.get("status") == "running" and each.get("id") != payload.agent_id
    ]
    if busy:
        fields["waiting_for"] = f"what runs in the background: {', '.join(busy)}"
    return fields
