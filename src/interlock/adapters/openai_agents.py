"""Agents of the OpenAI Agents SDK under Interlock: a governed copy of an agent, and its driver.

    result = await run_governed(governed(agent, run), "fix the build")

The copy asks before each call of a tool and of the model, whoever runs it. The driver asks
besides whether the agent is really done, and settles what waited for a person.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, cast

import msgspec

from interlock.adapters.framework_run import (
    ActionOf,
    FrameworkRun,
    GovernedRun,
    Permission,
)
from interlock.errors import InputError
from interlock.extras import needs_extra

with needs_extra("interlock.adapters.openai_agents", "openai-agents"):
    from agents import (
        Agent,
        AgentHooks,
        ApplyPatchEditor,
        ApplyPatchOperation,
        ApplyPatchResult,
        ApplyPatchTool,
        FunctionTool,
        Handoff,
        ModelResponse,
        RunContextWrapper,
        Runner,
        RunResult,
        RunState,
        ShellCommandRequest,
        ShellExecutor,
        ShellResult,
        ShellTool,
        Tool,
        ToolApprovalItem,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolInputGuardrailData,
        ToolOutputGuardrail,
        ToolOutputGuardrailData,
        TResponseInputItem,
    )

_OTHER_HOOKS: Final = ("on_start", "on_end", "on_handoff", "on_tool_start", "on_tool_end")
_KEPT_ELSEWHERE: Final = ("session", "conversation_id", "previous_response_id")
"""Options with which what was said before is not sent again."""


def governed(
    agent: Agent[Any],
    run: GovernedRun,
    *,
    interrupts: bool = False,
    wait_s: float | None = None,
    action_of: ActionOf | None = None,
    allow: Collection[str] = (),
) -> GovernedAgent:
    """Return a copy of an agent, and of those it hands over to, whose every call is judged.

    With `interrupts`, a call that a person has to agree to interrupts the run: give its state to
    `run_governed` once the approval was given, and the call is judged again. Without, the model
    hears which approval it waits for. With `wait_s`, the call itself waits so long before either.
    `action_of` says which action a call is where the policy could not tell by the tool's name
    and its arguments.

    Function tools, those of MCP servers, and a shell and patches of one's own are governed.
    Raises InputError for any other tool, because it is called where nobody here sees it, and for
    one that runs an agent which is not governed, unless `allow` names it.
    """
    asked = FrameworkRun(run, action_of=action_of, wait_s=wait_s)
    return _Gate(asked, frozenset(allow), interrupts=interrupts).governed(agent)


async def run_governed(
    agent: GovernedAgent,
    given: str | list[TResponseInputItem] | RunState[Any, Any],
    **options: Any,  # noqa: ANN401 - what `Runner.run` takes
) -> RunResult:
    """Run a governed agent until it is really done, or until it waits for a person.

    `options` are those of `Runner.run`. Where the result has interruptions, a person has to
    agree: `run_governed(agent, result.to_state())` goes on from there. Raises HaltedError where
    the run may not go on.
    """
    if isinstance(given, RunState):
        await _settled(given)
    while True:
        result = await Runner.run(agent, given, **options)
        if result.interruptions:
            given = cast("RunState[Any, Any]", result.to_state())
            if not await _settled(given):
                return result
            continue
        agent = _checked(result.last_agent)
        nudge = await agent.gate.run.nudge(str(result.final_output), model=_model_of(agent))
        if nudge is None:
            return result
        given = [{"role": "user", "content": nudge}]
        if not any(options.get(name) for name in _KEPT_ELSEWHERE):
            given = [*result.to_input_list(), *given]
        if options.get("previous_response_id"):
            options["previous_response_id"] = result.last_response_id


@dataclass
class GovernedAgent(Agent[Any]):
    """An agent whose tools are called only where they may be."""

    gate: _Gate = field(kw_only=True, repr=False)

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """Return every tool that it has; raise InputError where one was added later."""
        tools = await super().get_all_tools(run_context)
        for tool in tools:
            if not self.gate.is_governed(tool):
                raise InputError(
                    f"tool `{tool.name}` was given to agent `{self.name}` after it was governed:"
                    " give it before, and govern the agent then"
                )
        return tools

    async def get_mcp_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """Return the tools of its MCP servers, governed as its own are."""
        found = await super().get_mcp_tools(run_context)
        # Made anew for each turn: an interruption would not find them again.
        return [self.gate.tool(each, interrupts=False) for each in found]


class _Gate:
    """What the tools and the hooks of governed agents ask."""

    def __init__(self, run: FrameworkRun, allowed: frozenset[str], *, interrupts: bool) -> None:
        self.run: Final = run
        self._interrupts = interrupts
        self._allowed = allowed
        self._governed: dict[int, GovernedAgent] = {}
        """Agents may hand over to each other in a circle."""
        self._permissions: dict[str, Permission] = {}
        """What was answered and not used yet, by the call."""

    def governed(self, agent: Agent[Any]) -> GovernedAgent:
        """Return the governed copy of an agent: always the same one."""
        if isinstance(agent, GovernedAgent):
            return agent
        if id(agent) in self._governed:
            return self._governed[id(agent)]
        if type(agent) is not Agent:
            raise InputError(
                f"agent `{agent.name}` is of the kind `{type(agent).__name__}`, expected `Agent`:"
                " what other kinds do by themselves cannot be governed"
            )
        own = {each.name: getattr(agent, each.name) for each in fields(agent) if each.init}
        own |= {
            "tools": [self.tool(each, interrupts=self._interrupts) for each in agent.tools],
            "hooks": _Hooks(self.run, agent.hooks),
            "handoffs": [],
        }
        copied = self._governed[id(agent)] = GovernedAgent(**own, gate=self)
        copied.handoffs = [self._handoff(each) for each in agent.handoffs]
        return copied

    def _handoff(self, handoff: Agent[Any] | Handoff[Any, Any]) -> Agent[Any] | Handoff[Any, Any]:
        if isinstance(handoff, Agent):
            return self.governed(handoff)
        hand_over = handoff.on_invoke_handoff

        async def invoke(context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
            return self.governed(await hand_over(context, arguments))

        return replace(handoff, on_invoke_handoff=invoke)

    def tool(self, tool: Tool, *, interrupts: bool) -> Tool:
        """Return a tool that is called only where it may be."""
        match tool:
            case FunctionTool():
                return self._function(tool, interrupts=interrupts)
            case ShellTool(executor=execute) if execute is not None:
                return replace(tool, executor=_Shell(self, tool.name, execute))
            case ApplyPatchTool():
                return replace(tool, editor=_Editor(self, tool.name, tool.editor))
            case _ if tool.name in self._allowed:
                return tool
            case _:
                raise InputError(
                    f"tool `{tool.name}` ({type(tool).__name__}) cannot be governed, because it"
                    " is called elsewhere: use a function tool, or name it in `allow`"
                )

    def is_governed(self, tool: Tool) -> bool:
        """Whether a tool is one that was made here, or left alone here."""
        match tool:
            case FunctionTool():
                return any(isinstance(each, _Asked) for each in tool.tool_input_guardrails or ())
            case ShellTool() if tool.executor is not None:
                return isinstance(tool.executor, _Shell)
            case ApplyPatchTool():
                return isinstance(tool.editor, _Editor)
            case _:
                return tool.name in self._allowed

    def _function(self, tool: FunctionTool, *, interrupts: bool) -> FunctionTool:
        inner = cast("object", tool._agent_instance)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - nothing else tells
        is_seen = inner is None or isinstance(inner, GovernedAgent)
        if not is_seen and tool.name not in self._allowed:
            raise InputError(
                f"tool `{tool.name}` runs another agent, whose calls are not checked: make it of"
                " `governed(agent, run).as_tool(...)`, or name it in `allow`"
            )
        # Last: what others reject is neither asked about nor charged for.
        asked = _Asked(self._before, name="interlock")
        seen: ToolOutputGuardrail[Any] = ToolOutputGuardrail(self._after, name="interlock")
        made = copy.copy(tool)
        made.tool_input_guardrails = [*(tool.tool_input_guardrails or ()), asked]
        made.tool_output_guardrails = [seen, *(tool.tool_output_guardrails or ())]
        if interrupts and tool.needs_approval is False:
            made.needs_approval = _NeedsApproval(self, tool.name)
        return made

    async def _before(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        call = data.context
        permission = self._permissions.pop(call.tool_call_id, None)
        if permission is None:
            permission = await self._asked(call.tool_name, call.tool_arguments)
        if permission.refusal is not None:
            return ToolGuardrailFunctionOutput.reject_content(permission.refusal)
        self._permissions[call.tool_call_id] = permission
        return ToolGuardrailFunctionOutput.allow()

    async def _after(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        permission = self._permissions.pop(data.context.tool_call_id, None)
        if permission is not None:
            await self.run.observe(permission, data.output, failed=False)
        return ToolGuardrailFunctionOutput.allow()

    async def waits(self, tool: str, arguments: str | dict[str, Any], call_id: str) -> bool:
        """Return whether a person has to agree to a call first."""
        permission = await self._asked(tool, arguments)
        if permission.approval_id is not None:
            return True
        self._permissions[call_id] = permission
        return False

    async def result(
        self, tool: str, arguments: dict[str, Any], make: Callable[[], Any]
    ) -> tuple[str | None, Any]:
        """Make a call that may be made; return why not, or what it came to."""
        permission = await self._asked(tool, arguments)
        if permission.refusal is not None:
            return permission.refusal, None
        made = make()
        result = await made if inspect.isawaitable(made) else made
        await self.run.observe(permission, result, failed=False)
        return None, result

    async def _asked(self, tool: str, arguments: str | dict[str, Any]) -> Permission:
        given = _table(arguments) if isinstance(arguments, str) else arguments
        return await self.run.permission(tool, given)


class _Asked(ToolInputGuardrail[Any]):
    """What is asked before a function tool is called; known again by its kind."""


class _NeedsApproval:
    """Says of each call whether a person has to agree first; known again when one was asked."""

    def __init__(self, gate: _Gate, tool: str) -> None:
        self._gate = gate
        self._tool = tool

    async def __call__(
        self, _context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str
    ) -> bool:
        return await self._gate.waits(self._tool, arguments, call_id)


class _Shell:
    """Runs the commands of a shell tool that may be run."""

    def __init__(self, gate: _Gate, tool: str, execute: ShellExecutor) -> None:
        self._gate = gate
        self._tool = tool
        self._execute = execute

    async def __call__(self, request: ShellCommandRequest) -> str | ShellResult:
        # One after the other, as a script does it.
        line = {"command": "\n".join(request.data.action.commands)}
        refusal, result = await self._gate.result(self._tool, line, lambda: self._execute(request))
        return result if refusal is None else refusal


class _Editor:
    """Makes the changes of files that may be made."""

    def __init__(self, gate: _Gate, tool: str, editor: ApplyPatchEditor) -> None:
        self._gate = gate
        self._tool = tool
        self._editor = editor

    async def create_file(self, operation: ApplyPatchOperation) -> Any:  # noqa: ANN401 - what an editor returns
        return await self._made(operation, self._editor.create_file)

    async def update_file(self, operation: ApplyPatchOperation) -> Any:  # noqa: ANN401 - the same
        return await self._made(operation, self._editor.update_file)

    async def delete_file(self, operation: ApplyPatchOperation) -> Any:  # noqa: ANN401 - the same
        return await self._made(operation, self._editor.delete_file)

    async def _made(
        self, operation: ApplyPatchOperation, make: Callable[[ApplyPatchOperation], Any]
    ) -> Any:  # noqa: ANN401 - the same
        given = {
            name: value
            for name in ("type", "path", "diff", "move_to")
            if (value := getattr(operation, name)) is not None
        }
        refusal, result = await self._gate.result(self._tool, given, lambda: make(operation))
        return result if refusal is None else ApplyPatchResult(status="failed", output=refusal)


class _Hooks(AgentHooks[Any]):
    """Asks before each call of the model, and reports what it used; others hear the same."""

    def __init__(self, run: FrameworkRun, others: AgentHooks[Any] | None) -> None:
        self._run = run
        self._others = others
        self._said: str | None = None
        for name in _OTHER_HOOKS if others is not None else ():
            setattr(self, name, getattr(others, name))

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        await self._run.go_on(self._said)
        if self._others is not None:
            await self._others.on_llm_start(context, agent, system_prompt, input_items)

    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        used = response.usage
        await self._run.usage(
            used.input_tokens,
            used.output_tokens,
            read=used.input_tokens_details.cached_tokens or 0,
            model=_model_of(agent),
        )
        # What ends a turn is told when that is asked about.
        self._said = _text_of(response) if _acts(response) else None
        if self._others is not None:
            await self._others.on_llm_end(context, agent, response)


async def _settled(state: RunState[Any, Any]) -> bool:
    """Decide the interruptions that can be decided; return whether there was one."""
    _checked(state._current_agent)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - nothing else tells
    settled = False
    for item in state.get_interruptions():
        tool, call_id = item.tool_name, item.call_id
        gate = _asker_of(item)
        # What others wait for is theirs to decide; the call is judged whatever they say.
        if gate is None or tool is None or call_id is None:
            continue
        if not await gate.waits(tool, item.arguments or "", call_id):
            # A refusal is told to the model by what is asked right before the call.
            state.approve(item)
            settled = True
    return settled


def _asker_of(item: ToolApprovalItem) -> _Gate | None:
    agent = _checked(item.agent)
    for tool in agent.tools:
        if isinstance(tool, FunctionTool) and tool.name == item.tool_name:
            return agent.gate if isinstance(tool.needs_approval, _NeedsApproval) else None
    return None


def _checked(agent: object) -> GovernedAgent:
    if not isinstance(agent, GovernedAgent):
        raise InputError(
            "the agent is not governed: give `run_governed` what `governed(agent, run)` returns,"
            " and restore a state with that as well"
        )
    return agent


def _model_of(agent: Agent[Any]) -> str | None:
    return agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", None)


def _acts(response: ModelResponse) -> bool:
    return any(str(getattr(item, "type", "")).endswith("_call") for item in response.output)


def _text_of(response: ModelResponse) -> str | None:
    parts = [
        str(part.text)
        for item in response.output
        if getattr(item, "type", None) == "message"
        for part in getattr(item, "content", ())
        if getattr(part, "type", None) == "output_text"
    ]
    return "\n".join(parts) or None


def _table(arguments: str) -> dict[str, object] | str:
    """Return arguments as a table; what is none is judged as the text that it is."""
    try:
        return msgspec.json.decode(arguments, type=dict[str, object])
    except msgspec.DecodeError:
        return arguments
