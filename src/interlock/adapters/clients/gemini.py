"""Gemini CLI: one flat word for everything; asked a question where nobody is, it waits for ever."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from interlock.adapters.clients.client_dialect import ClientDialect, json_reply
from interlock.adapters.clients.client_event import (
    MOST_TASK,
    ClientEvent,
    Occasion,
    payload_of,
    text_of,
)
from interlock.adapters.clients.reaction import Course, Reaction
from interlock.adapters.clients.transcripts import TranscriptReader, gemini_calls
from interlock.model.hook import HookCall, HookReply, HookSession, ModelCall

_NAME: Final = "gemini"
_OCCASIONS: Final[Mapping[str, Occasion]] = {
    "BeforeTool": Occasion.CALL,
    "AfterTool": Occasion.SEEN,
    "BeforeAgent": Occasion.PROMPT,
    "AfterAgent": Occasion.STOP,
    "SessionStart": Occasion.BEGAN,
    "SessionEnd": Occasion.ENDED,
}
NOTICE: Final = re.compile(r"\A<hook_context>.*?</hook_context>\s*", re.DOTALL)
"""What the agent was told as the session began comes back before its first prompt."""
_UNTRUSTED: Final = "<untrusted_context>\n"
_SHELL: Final = re.compile(
    r"\n(?:Exit Code: (\d{1,3})\n)?(?:Signal: \S+\n)?(?:Background PIDs: [\d, ]+\n)?"
    r"Process Group PGID: \d+(?:\n</untrusted_context>)?\s*\Z"
)
"""What it writes below the output of a command; the number of its processes is never the same."""


class _Payload(msgspec.Struct, frozen=True, kw_only=True):
    """As much of it as anything follows from."""

    session_id: str
    hook_event_name: str
    cwd: str | None = None
    transcript_path: str | None = None
    tool_name: str = ""
    tool_input: dict[str, object] = {}
    tool_response: dict[str, object] = {}
    prompt: str | None = None
    prompt_response: str | None = None


class Gemini(ClientDialect):
    """Reads and writes what Gemini CLI understands."""

    def __init__(self) -> None:
        super().__init__()
        self._transcripts = TranscriptReader(gemini_calls)

    def event(self, call: HookCall) -> ClientEvent:
        """Return what it says; it never tells whether anybody is there, so nobody is."""
        payload = payload_of(call, _Payload)
        occasion = _OCCASIONS.get(payload.hook_event_name, Occasion.OTHER)
        prompt = NOTICE.sub("", payload.prompt or "", count=1)
        return ClientEvent(
            occasion=occasion,
            session=HookSession(
                client=_NAME,
                id=payload.session_id,
                agent=_NAME,
                task=prompt[:MOST_TASK],
                workspace=payload.cwd,
            ),
            tool=payload.tool_name,
            params=payload.tool_input,
            seen=response_seen(payload.tool_response),
            text=prompt if occasion is Occasion.PROMPT else payload.prompt_response,
            fields={"finish_reason": "stop"},
        )

    def say(self, event: ClientEvent, reaction: Reaction) -> HookReply:
        """Return a reaction as it understands it."""
        match reaction.course:
            case Course.REFUSE | Course.ASK | Course.CONTINUE:
                return json_reply({"decision": "deny", "reason": reaction.reason})
            case Course.HALT:
                said = {"decision": "deny", "reason": reaction.reason}
                return json_reply({**said, "continue": False, "stopReason": reaction.reason})
            case Course.GO_ON if reaction.notice and event.occasion is Occasion.CALL:
                return json_reply({"systemMessage": reaction.notice})
            case Course.GO_ON if reaction.notice and event.occasion is Occasion.BEGAN:
                return json_reply({"hookSpecificOutput": {"additionalContext": reaction.notice}})
            case Course.GO_ON:
                return json_reply({})

    def used(self, call: HookCall) -> Sequence[ModelCall]:
        """Return what the transcript of the session tells of models."""
        payload = payload_of(call, _Payload)
        if payload.transcript_path is None:
            return ()
        occasion = _OCCASIONS.get(payload.hook_event_name)
        is_over = occasion in (Occasion.STOP, Occasion.ENDED)
        return self._transcripts.calls(payload.transcript_path, is_over=is_over)


def response_seen(response: Mapping[str, object]) -> Mapping[str, object]:
    """Return what came of a call; of a command it says so in lines below what that wrote."""
    if error := response.get("error"):
        return {"outcome": "failed", "output": text_of(error)}
    output = text_of(response.get("llmContent"))
    if (found := _SHELL.search(output)) is None:
        return {"outcome": "ok", "output": output}
    said = output[: found.start()].removeprefix(_UNTRUSTED).removeprefix("Output: ")
    return {"exit_code": int(found[1] or 0), "output": said}
