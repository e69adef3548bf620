"""The example agent of the Claude Agent SDK, its real Claude Code and a scripted model."""

from __future__ import annotations

import asyncio
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from frameworks.example_agents import EXAMPLES, be_at_home, example
from interlock import Budget, Interlock, Run
from interlock.adapters.claude_agent_sdk import reported
from interlock.adapters.framework_run import GovernedRun
from scripted_model import Call, Reply, ScriptedModel, calls
from service.ledgers import kinds_of
from service.stepping_runs import check_record

_RELEASE = "touch released && echo x >> times"
_OFFLINE = (
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
)


@pytest.fixture
def claude(model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedModel:
    """The scripted model, as the one address that Claude Code is given."""
    home = tmp_path / "home"
    home.mkdir()
    be_at_home(home, monkeypatch)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    for name in _OFFLINE:
        monkeypatch.setenv(name, "1")
    return model


def _work(run: GovernedRun, options: ClaudeAgentOptions, *between: Callable[[], None]) -> list[str]:
    """Have the agent work once, and once more after each thing in between; return what it said."""

    async def work() -> list[str]:
        said: list[str] = []
        async with ClaudeSDKClient(options) as client:
            for happen in (lambda: None, *between):
                happen()
                await client.query("try")
                said += [
                    message.result or message.terminal_reason or ""
                    async for message in reported(client.receive_response(), run)
                    if isinstance(message, ResultMessage)
                ]
        return said

    return asyncio.run(work())


def test_calls_are_judged_and_what_a_person_agreed_to_is_made_once(
    claude: ScriptedModel, interlock: Interlock, operator: str, run: Run, folder: Path
) -> None:
    lines = ("rm -rf /", "echo hi", _RELEASE)
    claude.script = [
        Reply(calls=[Call("Bash", {"command": line}) for line in lines]),
        Reply("It waits.", tokens=(200, 20)),
        calls("Bash", command=_RELEASE),
        Reply("Released."),
    ]
    heard: list[str] = []

    def approve() -> None:
        heard.extend(claude.results)
        (asked,) = interlock.approvals()
        interlock.approve(asked.id, token=operator)

    said = _work(run, example("claude_agent_sdk_agent").make_options(run, folder), approve)

    assert said == ["It waits.", "Released."]
    blocked, made, asked = heard
    assert "Interlock: not allowed: " in blocked
    assert made == "hi"
    assert "a person has to agree first" in asked
    assert (folder / "times").read_text() == "x\n"
    assert kinds_of(interlock.ledger, run.id).count("action-judged") == 4
    assert kinds_of(interlock.ledger, run.id).count("action-observed") == 2
    assert run.state.spent.tokens == 110 + 220 + 110 + 110
    check_record(interlock)


def test_an_early_stop_is_continued_until_the_counter_ends_it(
    claude: ScriptedModel, interlock: Interlock, run: Run, folder: Path
) -> None:
    claude.script = [calls("Bash", command="echo hi"), Reply("Now let me fix the parser.")]
    said = _work(run, example("claude_agent_sdk_agent").make_options(run, folder))

    assert said == ["Now let me fix the parser."]
    assert len(claude.heard) > 2
    assert "[automatic message, not from a person]" in claude.last_heard
    assert kinds_of(interlock.ledger, run.id).count("stop-judged") == len(claude.heard) - 1
    check_record(interlock)


def test_an_agent_over_its_budget_is_ended(
    claude: ScriptedModel, interlock: Interlock, folder: Path
) -> None:
    run = interlock.run("try", workspace=folder, budget=Budget(tokens=250))
    claude.script = [calls("Bash", command=f"echo {number} >> times") for number in range(9)]
    claude.script.append(Reply("Nobody ended me."))
    said = _work(run, example("claude_agent_sdk_agent").make_options(run, folder))

    assert said == ["hook_stopped"]
    assert (folder / "times").read_text() in ("0\n1\n", "0\n1\n2\n")
    check_record(interlock)


def test_a_question_that_breaks_is_a_no(claude: ScriptedModel, run: Run, folder: Path) -> None:
    claude.script = [calls("Bash", command="touch made"), Reply("All done.")]

    def broken(tool: str, arguments: object) -> dict[str, object]:
        raise ZeroDivisionError

    options = example("claude_agent_sdk_agent").make_options(run, folder, action_of=broken)
    assert _work(run, options) == ["All done."]

    assert "it could not be checked: ZeroDivisionError" in claude.results[0]
    assert not (folder / "made").exists()


def test_the_example_runs_as_it_stands(
    claude: ScriptedModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["example", "How", "many?"])
    claude.script = [calls("Bash", command="wc -l < notes.txt"), Reply("There are two.")]
    runpy.run_path(str(EXAMPLES / "claude_agent_sdk_agent.py"), run_name="__main__")

    assert claude.results == ["2"]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "There are two."
    assert said[1].startswith("on the record: interlock show ")
