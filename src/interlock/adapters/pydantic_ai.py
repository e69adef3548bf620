"""pydantic-ai's agents under Interlock: one capability.

    agent = Agent(model, tools=tools, capabilities=[InterlockCapability(run)])

It judges a call where it is really made: after every hook that could change its arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from interlock.adapters.framework_run import ActionOf, FrameworkRun, GovernedRun
from interlock.extras import needs_extra

with needs_extra("interlock.adapters.pydantic_ai", "pydantic-ai"):
    from pydantic_ai import ApprovalRequired, CallDeferred, DeferredToolRequests, RunContext
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.result import FinalResult
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
    from pydantic_core import to_jsonable_python
    from pydantic_graph import End


class InterlockCapability(AbstractCapability[Any]):
    """Asks before each call of a tool and of the model, and whether the agent is really done.

    With `defers`, a call that a person has to agree to ends the agent's run with
    `DeferredToolRequests`, which has to be one of its output types: run it again with that call
    approved once the approval was given, and the call is judged again. Without, the model hears
    which approval it waits for. With `wait_s`, the call itself waits so long before either.
    `action_of` says which action a call is where the policy could not tell by the tool's name
    and its arguments.

    An agent that may not go on is ended by `HaltedError`.
    """

    def __init__(
        self,
        run: GovernedRun,
        *,
        defers: bool = False,
        wait_s: float | None = None,
        action_of: ActionOf | None = None,
    ) -> None:
        self._run = FrameworkRun(run, action_of=action_of, wait_s=wait_s)
        self._defers = defers

    def get_ordering(self) -> CapabilityOrdering:
        """Stand next to the tools, whatever the order in which capabilities are given."""
        return CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """Judge every call of the agent's tools."""
        return _GovernedToolset(toolset, run=self._run, defers=self._defers)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """End the agent's run where it may not go on."""
        reply = _last_reply(ctx)
        # What ended a turn was told when that was asked about.
        await self._run.go_on(reply.text if reply is not None and reply.tool_calls else None)
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the form of a hook
        *,
        request_context: ModelRequestContext,  # noqa: ARG002 - the same
        response: ModelResponse,
    ) -> ModelResponse:
        """Report what the model used."""
        used = response.usage
        await self._run.usage(
            used.input_tokens,
            used.output_tokens,
            read=used.cache_read_tokens,
            written=used.cache_write_tokens,
            model=response.model_name,
        )
        return response

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:  # noqa: ANN401, ARG002 - nodes of a graph whose types are not public
        """Send an agent on that ends its turn too early."""
        if isinstance(result, End):
            await self._send_on(ctx, cast("End[FinalResult[Any]]", result).data.output)
        return cast("Any", result)

    async def _send_on(self, ctx: RunContext[Any], output: object) -> None:
        reply = _last_reply(ctx)
        if reply is None or isinstance(output, DeferredToolRequests):
            return
        # A reply that ends in a tool for the output's shape is no contradiction.
        reason = None if reply.tool_calls else reply.finish_reason
        nudge = await self._run.nudge(reply.text, finish_reason=reason, model=reply.model_name)
        if nudge is not None:
            ctx.enqueue(nudge, priority="when_idle")


@dataclass
class _GovernedToolset(WrapperToolset[Any]):
    """Tools that are called only where they may be."""

    run: FrameworkRun
    defers: bool

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],
    ) -> Any:  # noqa: ANN401 - whatever a tool returns
        permission = await self.run.permission(name, to_jsonable_python(tool_args, fallback=str))
        if permission.refusal is not None:
            # What was approved elsewhere and not here would only be deferred for ever.
            if self.defers and permission.approval_id and not ctx.tool_call_approved:
                raise ApprovalRequired(
                    metadata={"interlock": permission.approval_id, "reason": permission.refusal}
                )
            raise ToolFailed(permission.refusal)
        try:
            result = await self.wrapped.call_tool(name, tool_args, ctx, tool)
        except (ApprovalRequired, CallDeferred):
            # It is put off, not over: it is called again, and judged again.
            raise
        except Exception as error:
            await self.run.observe(permission, error, failed=True)
            raise
        await self.run.observe(permission, result, failed=False)
        return result


def _last_reply(ctx: RunContext[Any]) -> ModelResponse | None:
    return next((each for each in reversed(ctx.messages) if isinstance(each, ModelResponse)), None)
