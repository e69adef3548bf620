"""The agents of the examples, each at work: what a test has to know of their frameworks."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic_ai import DeferredToolRequests, DeferredToolResults

from interlock.adapters.framework_run import GovernedRun
from interlock.adapters.openai_agents import run_governed

EXAMPLES = Path(__file__).parents[2] / "examples"

Decide = Callable[[], None]
"""What happens while an agent is interrupted for a person."""


class Work(Protocol):
    """Has an agent work; returns its last words.

    With `decide` it is interrupted where a person has to agree, and goes on after that.
    """

    def __call__(
        self, run: GovernedRun, folder: Path, decide: Decide | None = None, **options: Any
    ) -> str: ...


def be_at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything that is kept for a user, the ledger too, be kept in a folder of its own."""
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in [each for each in os.environ if each.startswith("INTERLOCK_")]:
        monkeypatch.delenv(name)


@cache
def example(name: str) -> Any:
    """Load an example as whoever runs it does."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def langchain(run: GovernedRun, folder: Path, decide: Decide | None = None, **options: Any) -> str:
    def invoke(agent: Any, *given: Any) -> Any:
        return agent.invoke(*given)

    return _langchain(run, folder, decide, invoke, **options)


def langchain_awaited(
    run: GovernedRun, folder: Path, decide: Decide | None = None, **options: Any
) -> str:
    def invoke(agent: Any, *given: Any) -> Any:
        return asyncio.run(agent.ainvoke(*given))

    return _langchain(run, folder, decide, invoke, **options)


def _langchain(
    run: GovernedRun,
    folder: Path,
    decide: Decide | None,
    invoke: Callable[..., Any],
    **options: Any,
) -> str:
    place = {"configurable": {"thread_id": "1"}}
    if decide is not None:
        options |= {"interrupts": True, "checkpointer": InMemorySaver()}
    agent = example("langchain_agent").make_agent(run, folder, **options)
    done = invoke(agent, {"messages": [("user", "try")]}, place)
    if decide is not None:
        assert done["__interrupt__"]
        decide()
        done = invoke(agent, Command(resume="decided"), place)
    return done["messages"][-1].text


def openai_agents(
    run: GovernedRun, folder: Path, decide: Decide | None = None, **options: Any
) -> str:
    async def work() -> str:
        waits = decide is not None
        agent = example("openai_agents_agent").make_agent(run, folder, interrupts=waits, **options)
        done = await run_governed(agent, "try")
        if decide is not None:
            assert done.interruptions
            decide()
            done = await run_governed(agent, done.to_state())
        return str(done.final_output)

    return asyncio.run(work())


def pydantic_ai(
    run: GovernedRun, folder: Path, decide: Decide | None = None, **options: Any
) -> str:
    async def work() -> str:
        waits = decide is not None
        agent = example("pydantic_ai_agent").make_agent(run, folder, defers=waits, **options)
        done = await agent.run("try")
        if decide is not None:
            asked = done.output
            assert isinstance(asked, DeferredToolRequests)
            decide()
            approved = DeferredToolResults(
                approvals={each.tool_call_id: True for each in asked.approvals}
            )
            done = await agent.run(
                message_history=done.all_messages(), deferred_tool_results=approved
            )
        return done.output

    return asyncio.run(work())


WORKS: dict[str, Work] = {
    "langchain": langchain,
    "langchain awaited": langchain_awaited,
    "openai-agents": openai_agents,
    "pydantic-ai": pydantic_ai,
}
"""By the framework."""
