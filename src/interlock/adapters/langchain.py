"""LangChain's agents under Interlock: one middleware.

    agent = create_agent(model, tools, middleware=[..., InterlockMiddleware(run)])

Put it last: then it judges what the others have made of a call, and each of their retries.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

from interlock.adapters.framework_run import (
    ActionOf,
    FrameworkRun,
    GovernedRun,
    Permission,
    halt_message,
)
from interlock.extras import needs_extra
from interlock.model.promised_answer import completed

with needs_extra("interlock.adapters.langchain", "langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain.messages import AIMessage, HumanMessage, ToolMessage
    from langgraph.errors import GraphBubbleUp
    from langgraph.runtime import Runtime
    from langgraph.types import Command, interrupt

Result = ToolMessage | Command[Any]
Update = dict[str, Any] | None
"""What a hook changes in the agent's state: LangChain's own word for it."""


class InterlockMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Asks before each call of a tool and of the model, and whether the agent is really done.

    With `interrupts`, a call that a person has to agree to interrupts the graph, which needs a
    checkpointer: resume it with any value once the approval was given, and the call is judged
    again. Without, the model hears which approval it waits for. With `wait_s`, the call itself
    waits so long before either. `action_of` says which action a call is where the policy could
    not tell by the tool's name and its arguments.
    """

    def __init__(
        self,
        run: GovernedRun,
        *,
        interrupts: bool = False,
        wait_s: float | None = None,
        action_of: ActionOf | None = None,
    ) -> None:
        super().__init__()
        self._interrupts = interrupts
        self._waited: Final = FrameworkRun(run, action_of=action_of, wait_s=wait_s, blocks=True)
        self._awaited: Final = FrameworkRun(run, action_of=action_of, wait_s=wait_s)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]
    ) -> Result:
        """Make a call that may be made, and report what it came to."""

        async def call(request: ToolCallRequest) -> Result:
            return handler(request)

        return completed(self._call, (self._waited, request, call))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        """Make a call that may be made, and report what it came to."""
        return await self._call(self._awaited, request, handler)

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - the form of a hook
        """End the run where it may not go on."""
        return completed(_step, (self._waited, state))

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - the form of a hook
        """End the run where it may not go on."""
        return await _step(self._awaited, state)

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - the form of a hook
        """Report what the model used, and send an agent on that ends its turn too early."""
        return completed(_turn, (self._waited, state))

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - the form of a hook
        """Report what the model used, and send an agent on that ends its turn too early."""
        return await _turn(self._awaited, state)

    async def _call(
        self,
        run: FrameworkRun,
        request: ToolCallRequest,
        call: Callable[[ToolCallRequest], Awaitable[Result]],
    ) -> Result:
        permission = await self._permission(run, request)
        if permission.refusal is not None:
            return ToolMessage(
                permission.refusal,
                tool_call_id=request.tool_call["id"],
                name=request.tool_call["name"],
                status="error",
            )
        try:
            result = await call(request)
        except GraphBubbleUp:
            # It is interrupted, not over: the call is made again, and judged again.
            raise
        except Exception as error:
            await run.observe(permission, error, failed=True)
            raise
        is_message = isinstance(result, ToolMessage)
        failed = is_message and result.status == "error"
        await run.observe(permission, result.text if is_message else result, failed=failed)
        return result

    async def _permission(self, run: FrameworkRun, request: ToolCallRequest) -> Permission:
        tool, arguments = request.tool_call["name"], request.tool_call["args"]
        permission = await run.permission(tool, arguments)
        if self._interrupts and permission.approval_id is not None:
            # The first time this ends the node; when that is resumed, it goes on from here.
            interrupt(
                {
                    "interlock": permission.approval_id,
                    "tool": tool,
                    "arguments": arguments,
                    "reason": permission.refusal,
                }
            )
            permission = await run.permission(tool, arguments)
        return permission


async def _step(run: FrameworkRun, state: AgentState[Any]) -> Update:
    reply = _last_reply(state)
    # What ended a turn was told when that was asked about.
    answer = await run.step(reply.text if reply is not None and reply.tool_calls else None)
    if answer.goes_on:
        return None
    return {"messages": [AIMessage(halt_message(answer))], "jump_to": "end"}


async def _turn(run: FrameworkRun, state: AgentState[Any]) -> Update:
    reply = _last_reply(state)
    if reply is None:
        return None
    used, told = reply.usage_metadata, cast("Mapping[str, Any]", reply.response_metadata)
    model: str | None = told.get("model_name") or told.get("model")
    if used is not None:
        cache = used.get("input_token_details", {})
        await run.usage(
            used["input_tokens"],
            used["output_tokens"],
            read=cache.get("cache_read", 0),
            written=cache.get("cache_creation", 0),
            model=model,
        )
    if reply.tool_calls and state.get("structured_response") is None:
        return None
    # A reply that ends in a tool for the answer's shape is no contradiction.
    reason = None if reply.tool_calls else told.get("finish_reason") or told.get("stop_reason")
    nudge = await run.nudge(reply.text, finish_reason=reason, model=model)
    return None if nudge is None else {"messages": [HumanMessage(nudge)], "jump_to": "model"}


def _last_reply(state: AgentState[Any]) -> AIMessage | None:
    return next((each for each in reversed(state["messages"]) if isinstance(each, AIMessage)), None)
