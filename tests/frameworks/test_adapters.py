"""What the adapters promise besides: errors, waits, outputs with a shape, any kind of run."""

from __future__ import annotations

import asyncio
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - LangChain's
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from msgspec.structs import replace
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.models.openai import OpenAIChatModel

from frameworks.example_agents import EXAMPLES, WORKS, Work, be_at_home, example
from interlock import CommandAction, Interlock, Run
from interlock.adapters.langchain import InterlockMiddleware
from interlock.adapters.pydantic_ai import InterlockCapability
from interlock.client import AsyncClient, connect
from interlock.model.events import ActionJudged, ActionObserved, Outcome
from scripted_model import Call, Reply, ScriptedModel, calls
from server.served import Served, served
from service.ledgers import events_of, kinds_of

__all__ = ["served"]

_RELEASE = "touch released && echo x >> times"
_TASK = {"messages": [("user", "try")]}
_EARLY = "Now let me fix the parser."


class Count(BaseModel):
    """An output with a shape."""

    lines: int


def _observed(interlock: Interlock, run: Run) -> list[Outcome]:
    events = events_of(interlock.ledger, run.id)
    return [each.outcome for each in events if isinstance(each, ActionObserved)]


def _fail() -> str:
    """Fail."""
    raise OSError("no space left")


@pytest.fixture(params=WORKS)
def work(request: pytest.FixtureRequest) -> Work:
    """One framework after the other."""
    return WORKS[request.param]


# Runs of any kind.


@pytest.mark.parametrize("framework", ["langchain", "pydantic-ai"])
@pytest.mark.parametrize("kind", ["waited", "awaited"])
def test_a_run_of_a_server_is_asked_in_the_same_words(
    framework: str, kind: str, model: ScriptedModel, served: Served, folder: Path
) -> None:
    model.script = [calls("shell", command="rm -rf /"), Reply("All done.")]
    work, place, token = WORKS[framework], served.listening.socket, served.tokens["agent"]
    if kind == "waited":
        with connect(place, token=token) as client:
            said = work(client.run("try"), folder)
    else:
        awaited = AsyncClient(place, token=token)
        said = work(asyncio.run(awaited.run("try")), folder)
        asyncio.run(awaited.close())

    assert said == "All done."
    assert "Interlock: not allowed: " in model.results[0]


def test_whoever_says_which_action_a_call_is_has_that_judged(
    work: Work, model: ScriptedModel, interlock: Interlock, run: Run, folder: Path
) -> None:
    model.script = [calls("shell", command="echo hi"), Reply("All done.")]
    # Where no folder is named, it is the run's own.
    action = CommandAction(command="git push --force", cwd=str(folder))

    def action_of(tool: str, arguments: object) -> CommandAction:
        assert (tool, arguments) == ("shell", {"command": "echo hi"})
        return replace(action, cwd=None)

    work(run, folder, action_of=action_of)

    events = events_of(interlock.ledger, run.id)
    assert [each.action for each in events if isinstance(each, ActionJudged)] == [action]
    assert "a person has to agree first" in model.results[0]


def test_a_call_waits_for_a_person_who_is_patient_enough(
    work: Work, model: ScriptedModel, interlock: Interlock, operator: str, run: Run, folder: Path
) -> None:
    model.script = [calls("shell", command=_RELEASE), Reply("Released.")]
    # Agreed to beforehand: whoever waits finds that somebody has decided.
    asked = run.tool("shell", {"command": _RELEASE}).approval_id
    assert asked is not None
    interlock.approve(asked, token=operator)
    said = work(run, folder, wait_s=60)

    assert said == "Released."
    assert (folder / "times").read_text() == "x\n"


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(Exception, match="run"):
        InterlockMiddleware("a run")  # pyright: ignore[reportArgumentType] - that is the test


# LangChain.


def _chat() -> ChatOpenAI:
    return ChatOpenAI(model="scripted")


@pytest.mark.parametrize("how", ["waited", "awaited"])
def test_going_on_without_the_approval_makes_no_call(
    how: str, model: ScriptedModel, run: Run, folder: Path
) -> None:
    model.script = [calls("shell", command=_RELEASE), Reply("It waits.")]
    agent = example("langchain_agent").make_agent(
        run, folder, checkpointer=InMemorySaver(), interrupts=True
    )
    place: Any = {"configurable": {"thread_id": "1"}}

    def invoke(given: object) -> Any:
        if how == "awaited":
            return asyncio.run(agent.ainvoke(given, place))
        return agent.invoke(given, place)

    assert invoke(_TASK)["__interrupt__"][0].value["tool"] == "shell"
    invoke(Command(resume="yes, I am sure"))

    assert "a person has to agree first" in model.results[0]
    assert not (folder / "released").exists()


def test_a_tool_of_langchain_that_fails_is_on_record(
    model: ScriptedModel, interlock: Interlock, run: Run
) -> None:
    model.script = [calls("_fail"), Reply("All done.")]
    agent: Any = create_agent(_chat(), [tool(_fail)], middleware=[InterlockMiddleware(run)])
    with pytest.raises(OSError, match="no space left"):
        agent.invoke(_TASK)

    assert _observed(interlock, run) == [Outcome.FAILED]


def test_an_answer_of_langchain_with_a_shape_may_come_too_early_as_well(
    model: ScriptedModel, interlock: Interlock, run: Run
) -> None:
    model.script = [Reply(_EARLY, [Call("Count", {"lines": 1})]), calls("Count", lines=2)]
    agent: Any = create_agent(
        _chat(), [], response_format=Count, middleware=[InterlockMiddleware(run)]
    )
    done = agent.invoke(_TASK)

    assert done["structured_response"] == Count(lines=2)
    assert kinds_of(interlock.ledger, run.id).count("stop-judged") == 2


# pydantic-ai.


def _openai() -> OpenAIChatModel:
    return OpenAIChatModel("scripted")


def test_an_approval_of_the_program_alone_makes_no_call(
    model: ScriptedModel, run: Run, folder: Path
) -> None:
    model.script = [calls("shell", command=_RELEASE), Reply("It waits.")]
    agent = example("pydantic_ai_agent").make_agent(run, folder, defers=True)

    async def approved_by_program() -> str:
        done = await agent.run("try")
        asked = done.output
        assert isinstance(asked, DeferredToolRequests)
        (call,) = asked.approvals
        assert asked.metadata[call.tool_call_id]["interlock"]
        approved = DeferredToolResults(approvals={call.tool_call_id: True})
        history = done.all_messages()
        return (await agent.run(message_history=history, deferred_tool_results=approved)).output

    assert asyncio.run(approved_by_program()) == "It waits."
    assert "a person has to agree first" in model.results[0]
    assert not (folder / "released").exists()


def test_a_tool_of_pydantic_ai_that_fails_is_on_record(
    model: ScriptedModel, interlock: Interlock, run: Run
) -> None:
    model.script = [calls("_fail")]
    agent = Agent(_openai(), tools=[_fail], capabilities=[InterlockCapability(run)])
    with pytest.raises(OSError, match="no space left"):
        asyncio.run(agent.run("try"))

    assert _observed(interlock, run) == [Outcome.FAILED]


def test_an_answer_of_pydantic_ai_with_a_shape_may_come_too_early_as_well(
    model: ScriptedModel, interlock: Interlock, run: Run
) -> None:
    model.script = [
        Reply(_EARLY, [Call("final_result", {"lines": 1})]),
        calls("final_result", lines=2),
    ]
    agent = Agent(_openai(), output_type=Count, capabilities=[InterlockCapability(run)])
    done = asyncio.run(agent.run("try"))

    assert done.output == Count(lines=2)
    assert kinds_of(interlock.ledger, run.id).count("stop-judged") == 2


# The examples and the packages.


@pytest.mark.parametrize("name", ["langchain_agent", "openai_agents_agent", "pydantic_ai_agent"])
def test_an_example_runs_as_it_stands(
    name: str,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    be_at_home(tmp_path, monkeypatch)
    monkeypatch.setattr(sys, "argv", [name, "How", "many?"])
    model.script = [calls("shell", command="wc -l < notes.txt"), Reply("There are two.")]
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")

    assert "2" in model.results[0]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "There are two."
    assert said[1].startswith("on the record: interlock show ")


_WITHOUT = """
import sys
sys.modules |= dict.fromkeys(["agents", "langchain", "pydantic_ai", "claude_agent_sdk"])
for name in ("openai_agents", "langchain", "pydantic_ai", "claude_agent_sdk"):
    try:
        __import__(f"interlock.adapters.{name}")
    except ImportError as error:
        print(error)
"""


def test_without_its_package_an_adapter_names_the_extra() -> None:
    told = subprocess.run(
        [sys.executable, "-c", _WITHOUT], capture_output=True, text=True, check=True
    ).stdout

    extras = ("openai-agents", "langchain", "pydantic-ai", "claude-agent-sdk")
    for line, extra in zip(told.splitlines(), extras, strict=True):
        assert line.endswith(f" needs the {extra} extra: pip install 'interlock[{extra}]'")
