"""Claude Code: a no is JSON on stdout with exit code 0; no opinion is nothing at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from interlock.adapters.clients.claude_payload import ClaudePayload, event_of
from interlock.adapters.clients.client_dialect import ClientDialect, json_reply
from interlock.adapters.clients.client_event import ClientEvent, Occasion, payload_of
from interlock.adapters.clients.reaction import Course, Reaction
from interlock.adapters.clients.transcripts import TranscriptReader, claude_calls
from interlock.model.hook import HookCall, HookReply, ModelCall

_NAME: Final = "claude-code"
_ASKING_MODES: Final = frozenset((None, "default", "acceptEdits", "plan"))
"""The modes in which it shows a question to whoever is there."""
_HEARS: Final = {Occasion.CALL: "PreToolUse", Occasion.BEGAN: "SessionStart"}
"""Where it takes up what the agent should hear."""
_OVER: Final = frozenset(("Stop", "SubagentStop", "SessionEnd"))
"""When the last call of a model is over."""


class ClaudeCode(ClientDialect):
    """Reads and writes what Claude Code understands."""

    def __init__(self) -> None:
        super().__init__()
        self._transcripts = TranscriptReader(claude_calls)

    def event(self, call: HookCall) -> ClientEvent:
        """Return what it says; where nobody is there to be asked it says so itself."""
        payload = payload_of(call, ClaudePayload)
        attended = call.env.get("CLAUDE_CODE_SESSION_ATTENDED") != "0"
        return replace(
            event_of(payload, _NAME),
            is_attended=attended and payload.permission_mode in _ASKING_MODES,
        )

    def say(self, event: ClientEvent, reaction: Reaction) -> HookReply:
        """Return a reaction as it understands it."""
        said: dict[str, object] = {}
        match reaction.course:
            case Course.REFUSE | Course.HALT:
                said["hookSpecificOutput"] = _decision("deny", reaction.reason)
                if reaction.course is Course.HALT:
                    said |= {"continue": False, "stopReason": reaction.reason}
            case Course.ASK:
                said["hookSpecificOutput"] = _decision("ask", reaction.reason)
            case Course.CONTINUE:
                said |= {"decision": "block", "reason": reaction.reason}
            case Course.GO_ON if reaction.notice and event.occasion in _HEARS:
                said["hookSpecificOutput"] = {
                    "hookEventName": _HEARS[event.occasion],
                    "additionalContext": reaction.notice,
                }
            case Course.GO_ON:
                return HookReply(0)
        return json_reply(said)

    def used(self, call: HookCall) -> Sequence[ModelCall]:
        """Return what the transcript of the session, or of its sub-agent, tells of models."""
        payload = payload_of(call, ClaudePayload)
        path = payload.transcript_path
        if payload.agent_id is not None:
            path = payload.agent_transcript_path or _beside(path, payload.agent_id)
        if path is None:
            return ()
        is_over = payload.hook_event_name in _OVER
        return self._transcripts.calls(path, is_over=is_over)


def _decision(decision: str, reason: str) -> Mapping[str, object]:
    return {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }


def _beside(path: str | None, agent: str) -> str | None:
    """Return where the transcript of a sub-agent is: in a folder beside that of the session."""
    return None if path is None else f"{path.removesuffix('.jsonl')}/subagents/agent-{agent}.jsonl"
