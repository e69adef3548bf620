"""How each client reads what its hook ends with: as measured with the real ones.

What a client cannot make sense of it takes for no opinion, and then the tool runs. So these are
written from the client's side: `runs` is True wherever the real one would have run the command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

CODEX_KEYS = {
    "continue",
    "decision",
    "hookSpecificOutput",
    "reason",
    "stopReason",
    "suppressOutput",
    "systemMessage",
}
CODEX_SPECIFIC_KEYS = {
    "additionalContext",
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
}


def one_object(stdout: bytes) -> dict[str, Any] | None:
    """Return the one JSON object that stdout is; None for anything else."""
    try:
        return msgspec.json.decode(stdout, type=dict[str, Any])
    except msgspec.DecodeError:
        return None


def claude_runs(code: int, stdout: bytes, stderr: bytes) -> bool:
    del stderr
    if code == 2:
        return False
    said = one_object(stdout) if code == 0 else None
    if said is None:
        return True
    specific = said.get("hookSpecificOutput", {})
    is_named = specific.get("hookEventName") == "PreToolUse"
    stops = is_named and specific.get("permissionDecision") in ("deny", "ask", "defer")
    return not stops and said.get("continue") is not False


def codex_runs(code: int, stdout: bytes, stderr: bytes) -> bool:
    if code == 2:
        return not stderr.strip()
    said = one_object(stdout) if code == 0 else None
    if said is None or not set(said) <= CODEX_KEYS:
        return True
    specific = said.get("hookSpecificOutput", {})
    if not set(specific) <= CODEX_SPECIFIC_KEYS or "continue" in said or "suppressOutput" in said:
        return True
    is_denied = specific.get("permissionDecision") == "deny"
    return not (is_denied and specific.get("permissionDecisionReason", "").strip())


def gemini_runs(code: int, stdout: bytes, stderr: bytes) -> bool:
    text = stdout if stdout.strip() else stderr
    said = one_object(text)
    if said is None:
        return code in (0, 1) or not text.strip()
    if said.get("decision") == "ask":
        raise AssertionError("asked where nobody is, it waits for ever")
    return said.get("decision") not in ("deny", "block") and said.get("continue") is not False


def copilot_runs(code: int, stdout: bytes, stderr: bytes) -> bool:
    del stderr
    if code != 0:
        return False
    said = one_object(stdout)
    if said is None:
        return True
    has_reason = bool(str(said.get("permissionDecisionReason", "")).strip())
    return not (said.get("permissionDecision") in ("deny", "ask") and has_reason)


def opencode_runs(code: int, stdout: bytes, stderr: bytes) -> bool:
    del code, stderr
    said = one_object(stdout)
    return said is not None and said.get("decision") == "allow"


RUNS: Mapping[str, Callable[[int, bytes, bytes], bool]] = {
    "claude-code": claude_runs,
    "codex": codex_runs,
    "gemini": gemini_runs,
    "copilot": copilot_runs,
    "opencode": opencode_runs,
}


def is_sent_on(client: str, code: int, stdout: bytes, stderr: bytes) -> bool:
    """Whether an agent that ends its turn is made to go on."""
    if code == 2 and client in ("claude-code", "codex", "gemini"):
        return bool(stderr.strip())
    said = one_object(stdout) if code == 0 else None
    if said is None:
        return False
    word = "deny" if client == "gemini" else "continue" if client == "opencode" else "block"
    return said.get("decision") == word


def call(client: str, command: str, session: str = "s-1", number: int = 1) -> dict[str, Any]:
    """Return what a client tells its hook before it runs a command."""
    cwd = "/"
    given = {"command": command, "description": "what it is for"}
    match client:
        case "claude-code" | "codex":
            own = {"turn_id": "t-1", "model": "m"} if client == "codex" else {"prompt_id": "p-1"}
            return {
                "session_id": session,
                "cwd": cwd,
                "hook_event_name": "PreToolUse",
                "permission_mode": "default",
                "tool_name": "Bash",
                "tool_input": given,
                "tool_use_id": f"call-{number}",
                **own,
            }
        case "gemini":
            return {
                "session_id": session,
                "cwd": cwd,
                "hook_event_name": "BeforeTool",
                "timestamp": "2026-11-15T00:19:10.062Z",
                "tool_name": "run_shell_command",
                "tool_input": given,
            }
        case "copilot":
            return {
                "sessionId": session,
                "timestamp": 1794702163641,
                "cwd": cwd,
                "toolName": "bash",
                "toolArgs": given,
            }
        case _:
            return {
                "opencode": "call",
                "session": session,
                "directory": cwd,
                "tool": "bash",
                "call": f"call-{number}",
                "args": given,
            }


def stop(client: str, text: str, session: str = "s-1") -> dict[str, Any]:
    """Return what a client tells its hook when its agent ends a turn; Copilot tells no words."""
    match client:
        case "claude-code" | "codex":
            own = {"turn_id": "t-1", "model": "m"} if client == "codex" else {"prompt_id": "p-1"}
            return {
                "session_id": session,
                "cwd": "/",
                "hook_event_name": "Stop",
                "stop_hook_active": False,
                "last_assistant_message": text,
                **own,
            }
        case "gemini":
            return {
                "session_id": session,
                "cwd": "/",
                "hook_event_name": "AfterAgent",
                "timestamp": "2026-11-15T00:19:10.171Z",
                "prompt": "do it",
                "prompt_response": text,
                "stop_hook_active": False,
            }
        case "copilot":
            return {
                "sessionId": session,
                "timestamp": 1794702163753,
                "cwd": "/",
                "stopReason": "end_turn",
                "stop_hook_active": False,
            }
        case _:
            return {"opencode": "stop", "session": session, "directory": "/", "text": text}
