"""Codex CLI: it takes nothing but its own words, each answer with a reason, and never a question.

An unknown key, a missing reason or an `ask` is a hook that failed to it, and then the tool runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from interlock.adapters.clients.claude_payload import ClaudePayload, event_of
from interlock.adapters.clients.client_dialect import ClientDialect, json_reply
from interlock.adapters.clients.client_event import ClientEvent, Occasion, payload_of
from interlock.adapters.clients.reaction import Course, Reaction
from interlock.adapters.clients.transcripts import TranscriptReader, codex_calls
from interlock.model.hook import HookCall, HookReply, ModelCall

_NAME: Final = "codex"
_SHELL: Final = "Bash"
_HEARS: Final = {Occasion.CALL: "PreToolUse", Occasion.BEGAN: "SessionStart"}
"""Where it takes up what the agent should hear."""


class Codex(ClientDialect):
    """Reads and writes what Codex understands."""

    def __init__(self) -> None:
        super().__init__()
        self._transcripts = TranscriptReader(codex_calls)

    def event(self, call: HookCall) -> ClientEvent:
        """Return what it says; whether anybody is there, its hooks cannot make use of.

        What its shell starts stays open, and no hook is called for what is typed into it then.
        """
        event = event_of(payload_of(call, ClaudePayload), _NAME)
        if event.tool == _SHELL and isinstance(event.params, Mapping):
            return replace(event, params={**event.params, "interactive": True})
        return event

    def say(self, event: ClientEvent, reaction: Reaction) -> HookReply:
        """Return a reaction as it understands it."""
        match reaction.course:
            case Course.REFUSE | Course.HALT | Course.ASK:
                return json_reply({"hookSpecificOutput": _denial(reaction.reason)})
            case Course.CONTINUE:
                return json_reply({"decision": "block", "reason": reaction.reason})
            case Course.GO_ON if reaction.notice and event.occasion in _HEARS:
                context = {
                    "hookEventName": _HEARS[event.occasion],
                    "additionalContext": reaction.notice,
                }
                return json_reply({"hookSpecificOutput": context})
            case Course.GO_ON:
                return json_reply({}) if event.occasion is Occasion.STOP else HookReply(0)

    def used(self, call: HookCall) -> Sequence[ModelCall]:
        """Return what the transcript of the session tells of models; a sub-agent has its own."""
        payload = payload_of(call, ClaudePayload)
        path = payload.agent_transcript_path or payload.transcript_path
        if path is None:
            return ()
        calls = self._transcripts.calls(path, is_over=True)
        return [replace(each, model=payload.model) for each in calls]


def _denial(reason: str) -> Mapping[str, object]:
    return {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }
