"""GitHub Copilot CLI: flat words of its own, and a payload that does not name its event.

Where it runs hooks that a repository has for Claude Code it speaks almost as that does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.adapters.clients.claude_code import ClaudeCode
from interlock.adapters.clients.claude_payload import ClaudePayload, event_of
from interlock.adapters.clients.client_dialect import ClientDialect, json_reply
from interlock.adapters.clients.client_event import MOST_TASK, ClientEvent, Occasion, payload_of
from interlock.adapters.clients.reaction import Course, Reaction
from interlock.adapters.clients.transcripts import (
    TranscriptReader,
    copilot_calls,
    copilot_last_words,
)
from interlock.model.hook import HookCall, HookReply, HookSession, ModelCall

_NAME: Final = "copilot"
_OCCASIONS: Final[Mapping[str, Occasion]] = {
    "preToolUse": Occasion.CALL,
    "postToolUse": Occasion.SEEN,
    "postToolUseFailure": Occasion.SEEN,
    "userPromptSubmitted": Occasion.PROMPT,
    "sessionStart": Occasion.BEGAN,
    "sessionEnd": Occasion.ENDED,
    "agentStop": Occasion.STOP,
    "subagentStop": Occasion.OTHER,
    "preCompact": Occasion.FORGETTING,
}
"""A sub-agent's end is told twice: `agentStop` asks, and what follows it only tells."""
_EXIT: Final = re.compile(r"<shellId: \S+ completed with exit code (\d{1,3})>\s*\Z")


class _Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    result_type: str = "success"
    text_result_for_llm: str = ""


class _Payload(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """As much of it as anything follows from."""

    session_id: str
    timestamp: int | str = 0
    cwd: str | None = None
    hook_name: str | None = None
    tool_name: str = ""
    tool_args: dict[str, object] | str = {}
    tool_result: _Result | None = None
    error: object = None
    prompt: str | None = None
    initial_prompt: str | None = None
    source: str | None = None
    reason: str | None = None
    stop_reason: str | None = None
    transcript_path: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    parent_agent_id: str | None = None


class Copilot(ClientDialect):
    """Reads and writes what Copilot CLI understands."""

    def __init__(self) -> None:
        super().__init__()
        self._transcripts = TranscriptReader(copilot_calls)

    def event(self, call: HookCall) -> ClientEvent:
        """Return what it says; a question where nobody is becomes a no by itself."""
        payload = payload_of(call, _Payload)
        occasion = _OCCASIONS.get(call.option("event") or _event_name(payload), Occasion.OTHER)
        is_sub_agent = payload.parent_agent_id is not None
        if occasion is Occasion.PROMPT and is_sub_agent:
            occasion = Occasion.OTHER
        fields: dict[str, object] = {}
        if payload.stop_reason is not None:
            fields["finish_reason"] = payload.stop_reason
        return ClientEvent(
            occasion=occasion,
            session=_session(payload),
            is_sub_agent=is_sub_agent,
            tool=payload.tool_name,
            params=payload.tool_args,
            seen=_seen(payload),
            text=payload.prompt if occasion is Occasion.PROMPT else None,
            fields=fields,
        )

    def ended(self, event: ClientEvent, call: HookCall) -> ClientEvent:
        """Return the end of a turn with the agent's last words, which stand in its own record."""
        payload = payload_of(call, _Payload)
        if payload.transcript_path is None or event.is_sub_agent:
            return event
        return replace(event, text=copilot_last_words(payload.transcript_path, payload.timestamp))

    def say(self, event: ClientEvent, reaction: Reaction) -> HookReply:
        """Return a reaction as it understands it."""
        match reaction.course:
            case Course.REFUSE | Course.HALT:
                return json_reply(_decision("deny", reaction.reason))
            case Course.ASK:
                return json_reply(_decision("ask", reaction.reason))
            case Course.CONTINUE:
                return json_reply({"decision": "block", "reason": reaction.reason})
            case Course.GO_ON if reaction.notice and event.occasion is Occasion.BEGAN:
                return json_reply({"additionalContext": reaction.notice})
            case Course.GO_ON:
                return json_reply({})

    def used(self, call: HookCall) -> Sequence[ModelCall]:
        """Return what its record of the session tells of models, where it says where that is."""
        payload = payload_of(call, _Payload)
        # A sub-agent's calls stand in the record of the session above it.
        if payload.transcript_path is None or payload.parent_agent_id is not None:
            return ()
        return self._transcripts.calls(payload.transcript_path, is_over=True)


def _event_name(payload: _Payload) -> str:
    """Return which event it is, where the hook was not installed to say: by what it holds."""
    if payload.hook_name is not None:
        return payload.hook_name
    shown = (
        (payload.tool_result, "postToolUse"),
        (payload.tool_name and payload.error, "postToolUseFailure"),
        (payload.tool_name, "preToolUse"),
        (payload.stop_reason, "agentStop"),
        (payload.prompt, "userPromptSubmitted"),
        (payload.source, "sessionStart"),
        (payload.reason, "sessionEnd"),
    )
    return next((name for sign, name in shown if sign), "")


def _session(payload: _Payload) -> HookSession:
    task = (payload.prompt or payload.initial_prompt or "")[:MOST_TASK]
    own = HookSession(
        client=_NAME, id=payload.session_id, agent=_NAME, task=task, workspace=payload.cwd
    )
    if payload.parent_agent_id is None:
        return own
    above = HookSession(
        client=_NAME, id=payload.parent_agent_id, agent=_NAME, workspace=payload.cwd
    )
    kind = payload.agent_type or "subagent"
    return replace(own, agent=f"{_NAME}/{kind}", task=task or f"sub-agent {kind}", above=above)


def _seen(payload: _Payload) -> Mapping[str, object]:
    result = payload.tool_result
    if result is None:
        return {"outcome": "failed", "output": str(payload.error or "")}
    return output_seen(result.text_result_for_llm, is_ok=result.result_type == "success")


def output_seen(output: str, *, is_ok: bool) -> Mapping[str, object]:
    """Return what came of a call; of a command it says so in a line below what that wrote."""
    if (found := _EXIT.search(output)) is not None:
        return {"exit_code": int(found[1]), "output": output[: found.start()]}
    return {"outcome": "ok" if is_ok else "failed", "output": output}


def _decision(decision: str, reason: str) -> Mapping[str, object]:
    return {"permissionDecision": decision, "permissionDecisionReason": reason}


class CopilotAsClaude(ClaudeCode):
    """Copilot CLI where it runs a repository's hooks for Claude Code: it speaks like that."""

    def event(self, call: HookCall) -> ClientEvent:
        """Return what it says."""
        return event_of(payload_of(call, ClaudePayload), _NAME)

    def ended(self, event: ClientEvent, call: HookCall) -> ClientEvent:
        """Return the end of a turn with the agent's last words, which stand in its own record."""
        payload = payload_of(call, ClaudePayload)
        if payload.transcript_path is None:
            return event
        return replace(event, text=copilot_last_words(payload.transcript_path, payload.timestamp))

    def used(self, call: HookCall) -> Sequence[ModelCall]:
        """Return nothing: Claude Code's transcripts are others."""
        del call
        return ()
