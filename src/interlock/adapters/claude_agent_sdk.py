"""Agents of the Claude Agent SDK under Interlock: options with its hooks in them.

    async for message in reported(query(prompt=task, options=governed_options(options, run)), run):
        ...

A hook that fails blocks the call; the hook at the end of a turn alone lets the agent end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace as with_options
from typing import Final, cast

import msgspec
from msgspec.structs import replace

from interlock.adapters.clients.claude_code import ClaudeCode
from interlock.adapters.clients.claude_payload import ClaudePayload, event_of
from interlock.adapters.clients.client_event import ClientEvent
from interlock.adapters.clients.reaction import Course, Reaction, held, refused
from interlock.adapters.framework_run import (
    ActionOf,
    FrameworkRun,
    GovernedRun,
    Permission,
)
from interlock.errors import InterlockError
from interlock.extras import needs_extra
from interlock.model.events import Outcome

with needs_extra("interlock.adapters.claude_agent_sdk", "claude-agent-sdk"):
    from claude_agent_sdk import (
        AssistantMessage,
        ClaudeAgentOptions,
        HookContext,
        HookMatcher,
        Message,
        ResultMessage,
    )
    from claude_agent_sdk.types import HookEvent, HookInput, HookJSONOutput

_CLIENT: Final = "claude-agent-sdk"
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
    return with_options(options, hooks=hooks)


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
    """What the hooks of one agent ask; the SDK speaks as Claude Code does."""

    def __init__(self, run: FrameworkRun) -> None:
        self._run = run
        self._dialect = ClaudeCode()
        self._permissions: dict[str, Permission] = {}
        """What was answered about calls that are being made, by their ids."""

    async def before(self, given: HookInput, call_id: str | None, _: HookContext) -> HookJSONOutput:
        """Answer whether a tool may be called."""
        event = _event(given)
        try:
            step = await self._run.step()
        except InterlockError as error:
            return self._said(event, refused(str(error)))
        if not step.goes_on:
            return self._said(event, held(step))
        permission = await self._run.permission(event.tool, event.params)
        if permission.refusal is None and call_id is not None:
            self._permissions[call_id] = permission
        return self._said(event, permission.reaction)

    async def after(self, given: HookInput, call_id: str | None, _: HookContext) -> HookJSONOutput:
        """Report what a call came to."""
        permission = self._permissions.pop(call_id or "", None)
        if permission is not None:
            seen = _event(given).seen
            failed = seen["outcome"] != Outcome.OK
            await self._run.observe(permission, seen["output"], failed=failed)
        return {}

    async def stop(self, given: HookInput, _id: str | None, _: HookContext) -> HookJSONOutput:
        """Send an agent on that ends its turn too early."""
        event = _event(given)
        nudge = await self._run.nudge(event.text, **event.fields)
        if nudge is None:
            return {}
        return self._said(event, Reaction(course=Course.CONTINUE, reason=nudge))

    def _said(self, event: ClientEvent, reaction: Reaction) -> HookJSONOutput:
        if reaction.course is Course.ASK:
            # Nobody is at a prompt here: it would be taken for a no, without a word about why.
            reaction = replace(reaction, course=Course.REFUSE)
        return msgspec.json.decode(self._dialect.say(event, reaction).stdout or b"{}")


def _event(given: HookInput) -> ClientEvent:
    return event_of(msgspec.convert(given, ClaudePayload), _CLIENT)


async def _report(words: FrameworkRun, message: AssistantMessage) -> None:
    used = cast("Mapping[str, int | None]", message.usage or {})
    read = used.get("cache_read_input_tokens") or 0
    written = used.get("cache_creation_input_tokens") or 0
    # Anthropic counts what comes from its cache, and goes there, beside the rest.
    given = (used.get("input_tokens") or 0) + read + written
    made = used.get("output_tokens") or 0
    await words.usage(given, made, read=read, written=written, model=message.model)
