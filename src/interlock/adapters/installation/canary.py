"""A canary through an installed hook: what is it really answered, and would the client obey?

Two lines are asked about, one that deletes everything and one that says a word, by running the
hook exactly as the client does; nothing of them is ever run. Then the session is ended.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

import msgspec

from interlock import settings
from interlock.adapters.installation.client_hooks import Client
from interlock.errors import InterlockError
from interlock.model.hook import CANARY

DEADLY: Final = "rm -rf / --no-preserve-root"
HARMLESS: Final = "echo canary"
_REFUSED: Final = 2
_LATE_S: Final = 30
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_ATTENDED: Final = {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
"""Nobody sits there to be asked."""


class BrokenHookError(InterlockError):
    """A hook that the client would not obey; the message says why."""


class Tried(NamedTuple):
    """What came of a canary."""

    problems: tuple[str, ...]
    took_ms: int
    """How long the slowest answer took."""


class _Said(NamedTuple):
    code: int
    stdout: bytes
    stderr: bytes


class Canary:
    """A session of one client that does nothing but ask."""

    def __init__(self, client: Client, hooks: Mapping[str, Mapping[str, object]]) -> None:
        """Take the hooks of a client by their events; a plugin has its own words for them."""
        self._client = client
        self._hooks = hooks
        self._session = f"{CANARY}{uuid.uuid4()}"
        self._slowest_s = 0.0

    def tried(self) -> Tried:
        """Run it; return what is wrong, if anything is."""
        problems: list[str] = []
        for event in self._asked_events():
            for line, is_deadly in ((DEADLY, True), (HARMLESS, False)):
                try:
                    refused = self._refusal(event, line)
                except BrokenHookError as error:
                    problems.append(f"`{event}`: {error}")
                    continue
                if is_deadly and refused is None:
                    problems.append(f"`{event}`: `{line}` was let through")
                elif not is_deadly and refused is not None:
                    problems.append(f"`{event}`: `{line}` was refused: {refused}")
        problems.extend(self._ended())
        return Tried(tuple(problems), round(1000 * self._slowest_s))

    def _asked_events(self) -> Sequence[str]:
        if self._client.is_plugin:
            return tuple(self._hooks)
        return [each for each in self._client.decides if each in self._hooks]

    def _refusal(self, event: str, line: str) -> str | None:
        """Return why a line is refused, as the client understands the answer; None for a yes."""
        said = self._run(self._hooks[event], self._payload(event, line))
        return refusal_in(self._client.name, said.code, said.stdout, said.stderr)

    def _ended(self) -> Sequence[str]:
        """End the session: no run of a canary stays open."""
        if self._client.is_plugin:
            event, hook = "ended", next(iter(self._hooks.values()), None)
        else:
            event = next((each for each in self._client.tells if each.lower() == "sessionend"), "")
            hook = self._hooks.get(event)
        if hook is None:
            return ()
        try:
            said = self._run(hook, self._payload(event, None))
        except BrokenHookError as error:
            return (f"`{event}`: {error}",)
        return () if said.code == 0 else (f"`{event}`: ended with exit code {said.code}",)

    def _payload(self, event: str, line: str | None) -> Mapping[str, object]:
        folder = str(settings.working_folder())
        asked = {"command": line}
        match self._client.name:
            case "copilot":
                call = {} if line is None else {"toolName": "bash", "toolArgs": asked}
                told = {"sessionId": self._session, "timestamp": int(1000 * time.time())}
                return {**told, "cwd": folder, "reason": "complete", **call}
            case "opencode":
                call = {} if line is None else {"tool": "bash", "args": asked}
                told = {"opencode": "call" if line else "ended", "session": self._session}
                return {**told, "call": str(uuid.uuid4()), "directory": folder, **call}
            case name:
                tool = "run_shell_command" if name == "gemini" else "Bash"
                call = {} if line is None else {"tool_name": tool, "tool_input": asked}
                told = {"session_id": self._session, "hook_event_name": event, "reason": "other"}
                return {**told, "cwd": folder, "tool_use_id": str(uuid.uuid4()), **call}

    def _run(self, hook: Mapping[str, object], payload: Mapping[str, object]) -> _Said:
        begun = time.monotonic()
        try:
            if hook.get("type") == "http":
                return _posted(hook, payload)
            return _ran(self._words(hook), payload)
        finally:
            self._slowest_s = max(self._slowest_s, time.monotonic() - begun)

    def _words(self, hook: Mapping[str, object]) -> list[str]:
        """Return what the client executes: in its shell, where it uses one."""
        args = hook.get("args")
        if isinstance(args, list):
            return [str(hook.get("command")), *map(str, cast("list[object]", args))]
        line = str(hook.get("bash") or hook.get("command"))
        if self._client.name == "codex":
            return [settings.environment().get("SHELL") or "/bin/sh", "-c", line]
        return ["bash", "-c", line]


def refusal_in(client: str, code: int, stdout: bytes, stderr: bytes) -> str | None:
    """Return the reason of a no, as a client reads an answer; None for a yes.

    BrokenHookError where the client would go on in spite of what was meant.
    """
    if code == _REFUSED and stderr.strip():
        return stderr.decode(errors="replace").strip()
    if code != 0:
        raise BrokenHookError(f"ended with exit code {code}, which is no answer")
    if not stdout.strip():
        return None
    try:
        answer = msgspec.json.decode(stdout, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BrokenHookError("what it printed is not one JSON object") from None
    wrapped = answer.get("hookSpecificOutput")
    inner = cast("dict[str, object]", wrapped) if isinstance(wrapped, dict) else {}
    # Each reads its own words, and lets through whatever is said in another's.
    flat = inner if client in {"claude-code", "codex"} else answer
    word = flat.get("permissionDecision") or answer.get("decision")
    reason = flat.get("permissionDecisionReason") or answer.get("reason")
    if word in {None, "allow", "approve"}:
        return None
    if not isinstance(reason, str) or not reason.strip():
        raise BrokenHookError(f"it said `{word}` without a reason")
    if word in {"deny", "block", "ask", "defer", "halt"} and (client, word) != ("codex", "ask"):
        return reason
    raise BrokenHookError(f"it said `{word}`, which the client does not know")


def _ran(words: Sequence[str], payload: Mapping[str, object]) -> _Said:
    try:
        done = subprocess.run(  # noqa: S603 - as the client runs it
            words,
            input=json.dumps(payload).encode(),
            capture_output=True,
            check=False,
            timeout=_LATE_S,
            env={**settings.environment(), **_ATTENDED},
        )
    except subprocess.TimeoutExpired:
        raise BrokenHookError(f"gave no answer within {_LATE_S} seconds") from None
    except OSError as error:
        raise BrokenHookError(f"could not be run: {error.strerror}") from None
    return _Said(done.returncode, done.stdout, done.stderr)


def _posted(hook: Mapping[str, object], payload: Mapping[str, object]) -> _Said:
    """Ask over HTTP; whatever is not a right answer is a failure to the client."""
    environment = {**settings.environment(), **_ATTENDED}
    headers = {
        name: _VARIABLE.sub(lambda found: environment.get(found[1], ""), str(value))
        for name, value in cast("Mapping[str, object]", hook.get("headers", {})).items()
    }
    request = urllib.request.Request(  # noqa: S310 - the address that was installed
        str(hook["url"]),
        data=json.dumps(payload).encode(),
        headers={**headers, "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_LATE_S) as answer:  # noqa: S310 - the same
            return _Said(0, answer.read(), b"")
    except urllib.error.HTTPError as error:
        with error:
            told = f"the server answered {error.code}: is INTERLOCK_TOKEN set, and right?"
            raise BrokenHookError(told) from None
    except OSError as error:
        told = f"no server answered: {error}; `interlock serve` starts one"
        raise BrokenHookError(told) from None
