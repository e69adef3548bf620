"""A run as the adapters of frameworks put their questions to it, whatever kind of run it is.

A program has a run that waits or one that awaits, in its own process or at a server; a framework
calls its hooks from coroutines or from threads. Each pair of those comes to the same words here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeVar, cast

from interlock.adapters.clients.reaction import Course, Reaction, judged, refused
from interlock.client import AsyncClientRun, ClientRun
from interlock.errors import HaltedError, InterlockError
from interlock.model.action import Action, ToolAction
from interlock.model.answers import Answer, StepAnswer
from interlock.model.budget import TokenUsage
from interlock.model.entrance import checked
from interlock.model.events import Outcome
from interlock.service.aio import AsyncRun
from interlock.service.interlock import Run

T = TypeVar("T")

GovernedRun = Run | AsyncRun | ClientRun | AsyncClientRun
"""Any of them has the same words."""

ActionOf = Callable[[str, Mapping[str, object]], Action | Mapping[str, object]]
"""Which action the call of a tool is, by the tool's name and its arguments."""

_THREADS: Final = ThreadPoolExecutor(64, thread_name_prefix="interlock-adapter")
"""Some of what they do waits for a person: a program's own few threads are not for that."""


class Permission(NamedTuple):
    """Whether a tool may be called."""

    reaction: Reaction
    answer: Answer | None = None
    """What was answered; None where there was no answer, which is a refusal."""
    asked_at: float = 0.0

    def __bool__(self) -> bool:
        """Whether the call may be made."""
        return self.refusal is None

    @property
    def refusal(self) -> str | None:
        """What the model hears instead of a result; None where the call may be made."""
        return None if self.reaction.course is Course.GO_ON else self.reaction.reason

    @property
    def approval_id(self) -> str | None:
        """The question to a person that the call waits for."""
        answer = self.answer
        return answer.approval_id if answer is not None and answer.waits_for_person else None


class FrameworkRun:
    """The words of a run for one adapter."""

    def __init__(
        self,
        run: GovernedRun,
        *,
        action_of: ActionOf | None = None,
        wait_s: float | None = None,
        blocks: bool = False,
    ) -> None:
        self.run: Final = checked(run, GovernedRun, "run")
        self._action_of = action_of or _tool_call
        self._wait_s = wait_s
        self._blocks = blocks
        """Whether it is driven by a thread that waits, and so must never be suspended."""

    async def permission(self, tool: str, arguments: Mapping[str, object] | str) -> Permission:
        """Ask whether a tool may be called; whatever goes wrong with that is a no."""
        try:
            answer = await self._answer(tool, arguments)
        except Exception as error:  # noqa: BLE001 - a question that breaks is refused
            why = str(error) if isinstance(error, InterlockError) else type(error).__name__
            return Permission(refused(f"the call was not made: it could not be checked: {why}"))
        return Permission(judged(answer), answer, time.monotonic())

    async def _answer(self, tool: str, arguments: Mapping[str, object] | str) -> Answer:
        # What is no object yet is judged as the text that it is.
        is_text = isinstance(arguments, str)
        given = ToolAction(name=tool, params=arguments) if is_text else None
        action = given or self._action_of(tool, cast("Mapping[str, object]", arguments))
        return await self._said(self.run.ask, action, wait_s=self._wait_s)

    async def observe(self, permission: Permission, output: object, *, failed: bool) -> None:
        """Report what a call came to that was permitted."""
        if permission.answer is None:
            return
        await self._said(
            self.run.observe,
            permission.answer,
            outcome=Outcome.FAILED if failed else Outcome.OK,
            output=output if isinstance(output, str) else str(output),
            duration_ms=round(1000 * (time.monotonic() - permission.asked_at)),
        )

    async def step(self, said: str | None = None) -> StepAnswer:
        """Ask whether the model may be called; a throttle is waited for."""
        answer = await self._said(self.run.step, said, wait_s=self._wait_s)
        if answer.goes_on and answer.delay_ms:
            await self._sleep(answer.delay_ms / 1000)
        return answer

    async def go_on(self, said: str | None = None) -> None:
        """Ask the same; raise HaltedError where it may not."""
        answer = await self.step(said)
        if not answer.goes_on:
            raise HaltedError(halt_message(answer), answer)

    async def nudge(self, text: str | None, **fields: object) -> str | None:
        """Ask whether the agent is really done; return what sends it on, None where it is.

        An agent must be able to end: a question that breaks ends the turn.
        """
        known = {name: value for name, value in fields.items() if value is not None}
        try:
            answer = await self._said(self.run.stopped, text, wait_s=self._wait_s, **known)
        except Exception:  # noqa: BLE001 - see above
            return None
        if not answer.goes_on:
            return None
        if answer.delay_ms:
            await self._sleep(answer.delay_ms / 1000)
        return answer.nudge

    async def usage(
        self, given: int, made: int, *, read: int = 0, written: int = 0, model: str | None = None
    ) -> None:
        """Report what one call of a model used; `read` and `written` are the cache's part of it."""
        if not given and not made:
            return
        used = TokenUsage(
            input_tokens=given,
            output_tokens=made,
            cache_read_tokens=read,
            cache_write_tokens=written,
        )
        await self._said(self.run.usage, used, model=model)

    async def _said(
        self,
        word: Callable[..., T] | Callable[..., Coroutine[Any, Any, T]],
        *args: object,
        **kwargs: object,
    ) -> T:
        """Say a word of the run, in the way that it is said and the way that it is waited for."""

        def say() -> T:
            if isinstance(self.run, AsyncRun | AsyncClientRun):
                return asyncio.run(cast("Coroutine[Any, Any, T]", word(*args, **kwargs)))
            return cast("T", word(*args, **kwargs))

        if isinstance(self.run, AsyncRun | AsyncClientRun):
            if self._blocks:
                # A loop of its own on a thread of its own: here one may be running already.
                return _THREADS.submit(say).result()
            return await cast("Awaitable[T]", word(*args, **kwargs))
        if self._blocks:
            return say()
        return await asyncio.get_running_loop().run_in_executor(_THREADS, say)

    async def _sleep(self, seconds: float) -> None:
        if self._blocks:
            time.sleep(seconds)  # noqa: ASYNC251 - driven by a thread that waits
        else:
            await asyncio.sleep(seconds)


def halt_message(answer: StepAnswer) -> str:
    """Return why an agent may not go on, and what a person can do about it."""
    why = "; ".join(answer.reasons) or answer.ruling.reason
    waits = f" (approval `{answer.approval_id}`)" if answer.approval_id else ""
    return f"interlock: the run may not go on{waits}: {why}"


def _tool_call(tool: str, arguments: Mapping[str, object]) -> Action:
    """Return the call as it is: the policy finds the commands and the edits that it carries."""
    return ToolAction(name=tool, params=arguments)
