"""What only the OpenAI Agents SDK has: other kinds of tools, other agents, states, other hooks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    AgentHooks,
    ApplyPatchOperation,
    ApplyPatchResult,
    ApplyPatchTool,
    FunctionTool,
    RunState,
    ShellCommandRequest,
    ShellTool,
    SQLiteSession,
    Tool,
    WebSearchTool,
    function_tool,
    handoff,
)
from agents.mcp import MCPServer
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as McpTool

from frameworks.example_agents import example
from interlock import HaltedError, InputError, Interlock, Run
from interlock.adapters.openai_agents import GovernedAgent, governed, run_governed
from scripted_model import Call, Reply, ScriptedModel, calls
from service.ledgers import kinds_of

_RELEASE = "touch released && echo x >> times"


@function_tool
def shell(command: str, times: int = 1) -> str:
    """Would run a command."""
    return f"would run {command} {times} times"


class _Editor:
    """Would change files."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def create_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        self.made.append(operation.path)
        return ApplyPatchResult(output="created")

    update_file = delete_file = create_file


class _Subclass(Agent[Any]):
    pass


def _agent(*tools: Tool, **fields: Any) -> Agent[Any]:
    return Agent("worker", model="scripted", tools=list(tools), **fields)


def _done(agent: GovernedAgent, given: Any = "try", **options: Any) -> Any:
    return asyncio.run(run_governed(agent, given, **options))


def test_a_shell_of_ones_own_runs_only_what_may_run(model: ScriptedModel, run: Run) -> None:
    ran: list[list[str]] = []

    def execute(request: ShellCommandRequest) -> str:
        ran.append(request.data.action.commands)
        return "ran"

    model.script = [
        Reply(
            calls=[
                Call("shell_call", {"action": {"commands": ["cd x", "rm -rf /"]}}),
                Call("shell_call", {"action": {"commands": ["echo hi"]}}),
            ]
        ),
        Reply("All done."),
    ]
    _done(governed(_agent(ShellTool(executor=execute)), run))

    assert ran == [["echo hi"]]
    assert "Interlock: not allowed: " in model.last_heard


def test_patches_change_only_what_may_change(model: ScriptedModel, run: Run) -> None:
    editor = _Editor()
    patch = {"type": "create_file", "diff": "+x"}
    model.script = [
        Reply(
            calls=[
                Call("apply_patch_call", {"operation": {**patch, "path": path}})
                for path in ("/etc/passwd", "notes.txt")
            ]
        ),
        Reply("All done."),
    ]
    _done(governed(_agent(ApplyPatchTool(editor=editor)), run))

    assert editor.made == ["notes.txt"]
    assert "Interlock: not allowed: " in model.last_heard


class _Server(MCPServer):
    """An MCP server in this process."""

    @property
    def name(self) -> str:
        return "files"

    def __init__(self) -> None:
        super().__init__()
        self.called: list[object] = []

    async def connect(self) -> None: ...
    async def cleanup(self) -> None: ...

    async def list_tools(self, *given: Any, **named: Any) -> list[McpTool]:
        return [McpTool(name="delete", input_schema={"type": "object"})]

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> CallToolResult:
        self.called.append(arguments)
        return CallToolResult(content=[TextContent(type="text", text="deleted")])

    async def list_prompts(self) -> Any: ...
    async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...


def test_the_tools_of_an_mcp_server_are_judged(model: ScriptedModel, run: Run) -> None:
    server = _Server()
    model.script = [calls("delete", path="/etc"), Reply("All done.")]
    _done(governed(_agent(mcp_servers=[server]), run, interrupts=True))

    assert server.called == []
    assert "Interlock: not allowed: " in model.results[0]


def test_what_cannot_be_governed_is_refused_unless_it_is_allowed(run: Run) -> None:
    inner = _agent(shell)
    refused: dict[str, Agent[Any]] = {
        "tool `web_search` .WebSearchTool. cannot be governed": _agent(WebSearchTool()),
        "tool `inner` runs another agent": _agent(inner.as_tool("inner", "Ask another.")),
        "kind `_Subclass`, expected `Agent`": _Subclass("worker"),
    }
    for why, agent in refused.items():
        with pytest.raises(InputError, match=why):
            governed(agent, run)

    allowed = governed(_agent(WebSearchTool(), shell), run, allow=["web_search", "shell"])
    web, own = allowed.tools
    assert isinstance(web, WebSearchTool)
    assert isinstance(own, FunctionTool)
    assert own.tool_input_guardrails, "a function tool is judged whatever is allowed"


def test_a_tool_that_is_added_later_is_refused(model: ScriptedModel, run: Run) -> None:
    agent = governed(_agent(), run)
    for late in (agent.clone(tools=[shell]), agent.clone(tools=[WebSearchTool()])):
        assert isinstance(late, GovernedAgent)
        with pytest.raises(InputError, match="after it was governed"):
            _done(late)

    assert model.heard == []


def test_an_agent_that_a_tool_runs_is_judged_within(model: ScriptedModel, run: Run) -> None:
    inner = governed(_agent(shell), run).as_tool("inner", "Ask another.")
    model.script = [
        calls("inner", input="go"),
        calls("shell", command="rm -rf /"),
        Reply("Not possible."),
        Reply("All done."),
    ]
    _done(governed(_agent(inner), run))

    assert "Not possible." in model.last_heard
    assert any("Interlock: not allowed: " in str(heard) for heard in model.heard)


@pytest.mark.parametrize("how", ["agent", "handoff"])
def test_whoever_is_handed_over_to_is_judged_as_well(
    how: str, model: ScriptedModel, run: Run
) -> None:
    second = Agent("second", model="scripted", tools=[shell])
    first = Agent(
        "first", model="scripted", handoffs=[second if how == "agent" else handoff(second)]
    )
    second.handoffs.append(first)
    model.script = [
        calls("transfer_to_second"),
        calls("shell", command="rm -rf /"),
        Reply("Not possible."),
    ]
    done = _done(governed(first, run))

    assert isinstance(done.last_agent, GovernedAgent)
    assert done.last_agent.name == "second"
    assert "Interlock: not allowed: " in model.last_heard
    assert not second.tools[0].tool_input_guardrails, "the agents that were given stay as they are"  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - a function tool


def test_a_state_that_was_written_down_goes_on_exactly_once(
    model: ScriptedModel, interlock: Interlock, operator: str, run: Run, folder: Path
) -> None:
    model.script = [calls("shell", command=_RELEASE), Reply("Released.")]
    make_agent = example("openai_agents_agent").make_agent
    waits = _done(make_agent(run, folder, interrupts=True))
    written = waits.to_state().to_string()

    async def restored(agent: Any) -> Any:
        return await run_governed(agent, await RunState.from_string(agent, written))

    again = make_agent(run, folder, interrupts=True)
    still = asyncio.run(restored(again))
    assert still.interruptions
    assert not (folder / "released").exists()

    (asked,) = interlock.approvals()
    interlock.approve(asked.id, token=operator)
    assert asyncio.run(restored(again)).final_output == "Released."
    assert asyncio.run(restored(make_agent(run, folder, interrupts=True))).interruptions
    assert (folder / "times").read_text() == "x\n"


def test_a_state_of_an_agent_that_is_not_governed_is_refused(
    model: ScriptedModel, run: Run, folder: Path
) -> None:
    model.script = [calls("shell", command=_RELEASE)]
    agent = example("openai_agents_agent").make_agent(run, folder, interrupts=True)
    written = _done(agent).to_state().to_string()
    plain = Agent(agent.name, tools=agent.tools)

    async def restored() -> Any:
        return await run_governed(agent, await RunState.from_string(plain, written))

    with pytest.raises(InputError, match="the agent is not governed"):
        asyncio.run(restored())


def test_what_the_sdk_asks_by_itself_is_settled_where_nobody_has_to_agree(
    model: ScriptedModel, run: Run
) -> None:
    """A tool with defaults is always interrupted for: the SDK asks nobody whether it has to be."""
    model.script = [calls("shell", command="echo hi"), Reply("All done.")]
    done = _done(governed(_agent(shell), run, interrupts=True))

    assert done.final_output == "All done."
    assert model.results == ["would run echo hi 1 times"]


def test_approvals_of_ones_own_are_left_to_their_owner(model: ScriptedModel, run: Run) -> None:
    own = function_tool(lambda command: f"ran {command}", name_override="own", needs_approval=True)  # pyright: ignore[reportUnknownLambdaType] - of a test
    model.script = [calls("own", command="echo hi"), Reply("All done.")]
    agent = governed(_agent(own), run, interrupts=True)
    done = _done(agent)
    (waits,) = done.interruptions
    assert waits.tool_name == "own"

    state = done.to_state()
    state.approve(waits)
    assert _done(agent, state).final_output == "All done."
    assert kinds_of(run._governor.ledger, run.id).count("action-judged") == 1


def test_hooks_of_ones_own_are_called_besides(model: ScriptedModel, run: Run) -> None:
    called: list[str] = []

    class Hooks(AgentHooks[Any]):
        async def on_start(self, context: Any, agent: Any) -> None:
            called.append("start")

        async def on_llm_start(self, *given: Any, **named: Any) -> None:
            called.append("llm start")

        async def on_llm_end(self, *given: Any, **named: Any) -> None:
            called.append("llm end")

        async def on_end(self, *given: Any, **named: Any) -> None:
            called.append("end")

    _done(governed(_agent(hooks=Hooks()), run))

    assert called == ["start", "llm start", "llm end", "end"]


def test_a_session_is_sent_on_with_the_nudge_alone(model: ScriptedModel, run: Run) -> None:
    model.script = [
        calls("shell", command="echo hi"),
        Reply("Now let me fix the parser."),
        Reply("All done."),
    ]
    session = SQLiteSession("1")
    done = _done(governed(_agent(shell), run), session=session)
    session.close()

    assert done.final_output == "All done."
    assert model.last_heard.count("would run echo hi") == 1


def test_a_run_that_was_halted_ends_the_agent(
    model: ScriptedModel, interlock: Interlock, operator: str, run: Run
) -> None:
    interlock.halt(run.id, token=operator, reason="enough")
    with pytest.raises(HaltedError, match="enough"):
        _done(governed(_agent(shell), run))

    assert model.heard == []
