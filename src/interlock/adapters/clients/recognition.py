"""Whose payload it is, where a hook was written by somebody who did not say.

Every client takes some answers for a yes that another one takes for a no: who is answered in the
wrong words may do everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from interlock.adapters.clients.claude_code import ClaudeCode
from interlock.adapters.clients.client_dialect import exit_refusal
from interlock.adapters.clients.client_event import payload_of
from interlock.adapters.clients.codex import Codex
from interlock.adapters.clients.copilot import Copilot, CopilotAsClaude
from interlock.adapters.clients.gemini import Gemini
from interlock.adapters.clients.opencode import Opencode
from interlock.errors import InputError
from interlock.model.hook import HookAnswer, HookCall, HookReply, HookRequest, ModelCall
from interlock.ports import Dialect

ANY: Final = "auto"
"""The dialect of whoever does not say which one it is."""
_GEMINI: Final = frozenset(
    (
        "BeforeTool",
        "AfterTool",
        "BeforeAgent",
        "AfterAgent",
        "BeforeModel",
        "AfterModel",
        "BeforeToolSelection",
        "PreCompress",
    )
)
_OWN: Final = frozenset(("action", "step", "stop", "prompt", "end"))


def client_of(payload: Mapping[str, object]) -> str | None:
    """Return whose hooks are told this, as far as its keys show; None where nobody's is known."""
    name = payload.get("hook_event_name")
    if "opencode" in payload or "sessionID" in payload:
        return "opencode"
    if "sessionId" in payload:
        return "copilot"
    if not isinstance(name, str):
        is_own = not _OWN.isdisjoint(payload) and ("session" in payload or "run" in payload)
        return "interlock" if is_own else None
    if name in _GEMINI:
        return "gemini"
    if "timestamp" in payload:
        # Both tell the time; before the end of a turn Gemini alone says where it writes it down.
        is_gemini = not name.endswith("Stop") and "transcript_path" in payload
        return "gemini" if is_gemini else "copilot-as-claude"
    is_codex = "turn_id" in payload or "/rollout-" in str(payload.get("transcript_path"))
    return "codex" if is_codex else "claude-code"


class Recogniser:
    """Answers each payload in the dialect of whom it is from."""

    def __init__(self, dialects: Mapping[str, Dialect], otherwise: str | None = None) -> None:
        self._dialects = dialects
        self._otherwise = otherwise
        """Whose it is where the payload does not show another one of these."""

    def request(self, call: HookCall) -> HookRequest | None:
        """Return what a call asks; raise InputError where nobody is known to ask like that."""
        return self._dialect(call).request(call)

    def reply(self, call: HookCall, answer: HookAnswer) -> HookReply:
        """Return an answer in the words of whoever asked."""
        return self._dialect(call).reply(call, answer)

    def refusal(self, call: HookCall, reason: str) -> HookReply:
        """Return a no in the words of whoever asked, or in those that everybody understands."""
        try:
            return self._dialect(call).refusal(call, reason)
        except InputError:
            return exit_refusal(call, reason)

    def used(self, call: HookCall) -> Sequence[ModelCall]:
        """Return what models were used for, as whoever asks tells."""
        return self._dialect(call).used(call)

    def _dialect(self, call: HookCall) -> Dialect:
        payload = payload_of(call, dict[str, object])
        name = client_of(payload)
        found = None if name is None else self._dialects.get(name)
        found = found or self._dialects.get(self._otherwise or "")
        if found is None:
            known = ", ".join(f"`{each}`" for each in sorted(self._dialects))
            raise InputError(
                f"the payload of the hook is of no client that is known: name one of {known}"
            )
        return found


def client_dialects(own: Mapping[str, Dialect]) -> Mapping[str, Dialect]:
    """Return the dialect of every known client, by its name, with those that are given."""
    claude_code, as_claude = ClaudeCode(), CopilotAsClaude()
    dialects: dict[str, Dialect] = {
        **own,
        "claude-code": claude_code,
        "codex": Codex(),
        "gemini": Gemini(),
        "copilot": Copilot(),
        "opencode": Opencode(),
    }
    either = {
        "claude-code": claude_code,
        "copilot": dialects["copilot"],
        "copilot-as-claude": as_claude,
    }
    return {
        **dialects,
        "claude-code": Recogniser(either, "claude-code"),
        ANY: Recogniser({**dialects, "copilot-as-claude": as_claude}),
    }
