"""Agents of the Claude Agent SDK under Interlock: options with its hooks in them.

    async for message in reported(query(prompt=task, options=governed_options(options, run)), run):
        ...

A hook that fails blocks the call; the hook at the end of a turn alone lets the agent end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast

import msgspec

from interlock.adapters.framework_run import (
    ActionOf,
    FrameworkRun,
    GovernedRun,
    Permission,
    halt_message,
    missing,
)
from interlock.errors import InterlockError

try:
    from claude_agent_sdk import (
        AssistantMessage,
        ClaudeAgentOptions,
        HookContext,
        HookMatcher,
        Message,
        ResultMessage,
    )
    from claude_agent_sdk.types import HookEvent, HookJSONOutput, SyncHookJSONOutput
except ImportError as error:
    raise missing("claude-agent-sdk", "claude-agent-sdk") from error

_TIMEOUT_S: Final = 60.0
"""How long a hook may take besides what it waits for a person."""


def governed_options(
    options: ClaudeAgentOptions,
    run: GovernedRun,
    *,
    wait_s: float | None = None,
    action_of: ActionOf | None = None,
) -> ClaudeAgentOptions:
    """Return the options with hooks that ask before each call, and whether it is really done.

    A call that a person has to agree to is refused and the model hears which approval it waits
    for; tried again once that was given, it is let through. With `wait_s`, the call itself waits
    so long before that. `action_of` says which action a call is where the policy could not tell
    by the tool's name and its arguments. Other hooks stay as they are: any of them may refuse.
    """
    asked = _Hooks(FrameworkRun(run, action_of=action_of, wait_s=wait_s))
    timeout = _TIMEOUT_S + (wait_s or 0)
    hooks = dict(options.hooks or {})
    ours: Mapping[HookEvent, HookMatcher] = {
        "PreToolUse": HookMatcher(hooks=[asked.before], timeout=timeout, on_failure="block"),
        "PostToolUse": HookMatcher(hooks=[asked.after], timeout=_TIMEOUT_S),
        "PostToolUseFailure": HookMatcher(hooks=[asked.after], timeout=_TIMEOUT_S),
        "Stop": HookMatcher(hooks=[asked.stop], timeout=timeout),
    }
    for event, matcher in ours.items():
        hooks[event] = [matcher, *hooks.get(event, ())]
    return replace(options, hooks=hooks)


async def reported(messages: AsyncIterator[Message], run: GovernedRun) -> AsyncIterator[Message]:
    """Yield every message, and report what the model used for it: hooks are not told that."""
    words, latest = FrameworkRun(run), None
    async for message in messages:
        # A reply comes in several messages, each with what the whole of it has used so far.
        if isinstance(message, AssistantMessage) and message.usage is not None:
            if latest is not None and latest.message_id != message.message_id:
                await _report(words, latest)
            latest = message
        elif isinstance(message, ResultMessage) and latest is not None:
            await _report(words, latest)
            latest = None
        yield message
    if latest is not None:
        await _report(words, latest)


class _Hooks:
    """What the hooks of one agent ask."""

    def __init__(self, run: FrameworkRun) -> None:
        self._run = run
        self._permissions: dict[str, Permission] = {}
        """What was answered about calls that are being made, by their ids."""

    async def before(
        self,
        given: Any,  # noqa: ANN401 - one of ten tables, told apart by the event
        call_id: str | None,
        _context: HookContext,
    ) -> HookJSONOutput:
        """Answer whether a tool may be called."""
        try:
            step = await self._run.step()
        except InterlockError as error:
            return _refused(f"interlock: the call was not made, because nobody could say: {error}")
        if not step.goes_on:
            refused = _refused(halt_message(step))
            refused |= {"continue_": False, "stopReason": halt_message(step)}
            return refused
        permission = await self._run.permission(given["tool_name"], given["tool_input"])
        if permission.refusal is not None:
            return _refused(permission.refusal)
        if call_id is not None:
            self._permissions[call_id] = permission
        return {}

    async def after(
        self,
        given: Any,  # noqa: ANN401 - the same
        call_id: str | None,
        _context: HookContext,
    ) -> HookJSONOutput:
        """Report what a call came to."""
        permission = self._permissions.pop(call_id or "", None)
        if permission is not None:
            failure = cast("str | None", given.get("error"))
            output = _text(given.get("tool_response")) if failure is None else failure
            await self._run.observe(permission, output, failed=failure is not None)
        return {}

    async def stop(
        self,
        given: Any,  # noqa: ANN401 - the same
        _call_id: str | None,
        _context: HookContext,
    ) -> HookJSONOutput:
        """Send an agent on that ends its turn too early."""
        nudge = await self._run.nudge(given.get("last_assistant_message"), finish_reason="end_turn")
        return {} if nudge is None else {"decision": "block", "reason": nudge}


def _refused(reason: str) -> SyncHookJSONOutput:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }


async def _report(words: FrameworkRun, message: AssistantMessage) -> None:
    used = cast("Mapping[str, int | None]", message.usage or {})
    read = used.get("cache_read_input_tokens") or 0
    written = used.get("cache_creation_input_tokens") or 0
    # Anthropic counts what comes from its cache, and goes there, beside the rest.
    given = (used.get("input_tokens") or 0) + read + written
    made = used.get("output_tokens") or 0
    await words.usage(given, made, read=read, written=written, model=message.model)


def _text(output: object) -> str:
    match output:
        case str():
            return output
        case {"stdout": str(said), "stderr": str(complaint)}:
            return f"{said}\n{complaint}".strip("\n")
        case _:
            return msgspec.json.encode(output).decode()
