"""An action is read once: no command line is parsed twice, and no text searched twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from msgspec.structs import replace

from gates.policies import gates_with
from interlock import CompiledPolicy, Interlock, Run
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.policy.actions import inspection
from interlock.policy.gates.judgement import Judgement, judge
from interlock.secrets.scanner import SecretMatch, SecretScanner
from interlock.views.action_explanation import explain
from secret_generator import from_template

_TOKEN = from_template("ghp_[A-Za-z0-9]{36}", "inspection")
_OTHER = from_template("ghp_[A-Za-z0-9]{36}", "another")
_UNDO = '[destructive-ops.rules]\n"filesystem.delete-recursive" = "allow-with-undo"\n'


class Counts(NamedTuple):
    """How often each text was parsed, and searched."""

    parses: Counter[tuple[str, str | None]]
    scans: Counter[str]


class CountingScanner:
    """Searches with the real scanner, and counts how often each text comes by."""

    def __init__(self, scanner: SecretScanner, scans: Counter[str]) -> None:
        self._scanner = scanner
        self._scans = scans

    def scan(self, text: str) -> Sequence[SecretMatch]:
        self._scans[text] += 1
        return self._scanner.scan(text)


class Counted(NamedTuple):
    """A policy that counts, and what it has counted."""

    policy: CompiledPolicy
    counts: Counts


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counts = Counts(Counter(), Counter())
    analyze: Callable[..., Any] = inspection.analyze

    def counting(command: str, *, cwd: str | None, **rest: object) -> object:
        counts.parses[command, cwd] += 1
        return analyze(command, cwd=cwd, **rest)

    monkeypatch.setattr(inspection, "analyze", counting)
    policy = gates_with(_UNDO)
    scanner = CountingScanner(policy.scanner, counts.scans)
    return Counted(replace(policy, scanner=cast("SecretScanner", scanner)), counts)


class Expected(NamedTuple):
    """The distinct texts of an action: each is parsed, or searched, exactly once."""

    parses: int
    scans: int


_CASES: dict[str, tuple[Action, Expected]] = {
    "command": (CommandAction(command="ls -l", cwd="/srv"), Expected(1, 2)),
    "command with a token": (CommandAction(command=f"echo {_TOKEN}"), Expected(2, 2)),
    "quoted command with a token": (
        CommandAction(command=f"rm -rf / 'a'\"b\" {_TOKEN}", cwd="/srv"),
        Expected(2, 7),
    ),
    "tool": (ToolAction(name="Bash", params={"command": "ls -l"}), Expected(1, 4)),
    "tool with a token": (
        ToolAction(name="Bash", params={"command": f"echo {_TOKEN}"}),
        Expected(2, 9),
    ),
    "tool with edits": (
        ToolAction(name="Write", params={"file_path": "a.py", "content": f"k = {_TOKEN}\n"}),
        Expected(0, 9),
    ),
    "edit": (EditAction(path="a.py", content="x = 1\n", old="x = 0\n"), Expected(0, 3)),
    "edit with tokens": (
        EditAction(path="a.py", content=f"a = {_TOKEN}\nb = {_OTHER}\n", old=f"a = {_TOKEN}\n"),
        Expected(0, 6),
    ),
}


@pytest.mark.parametrize(("action", "expected"), _CASES.values(), ids=_CASES)
def test_a_judgement_reads_each_text_once(
    counted: Counted, action: Action, expected: Expected
) -> None:
    judgement = Judgement(inspection.inspect(action, counted.policy))
    assert judgement.risk_class is judgement.risk_class
    assert judgement.touches is judgement.touches

    assert_once(counted.counts)
    assert Expected(*(len(each) for each in counted.counts)) == expected


@pytest.mark.parametrize("action", [case[0] for case in _CASES.values()], ids=_CASES)
@pytest.mark.parametrize("ask", [judge, explain], ids=["judge", "explain"])
def test_an_answer_and_its_explanation_read_each_text_once(
    counted: Counted, action: Action, ask: Callable[[Action, CompiledPolicy], object]
) -> None:
    ask(action, counted.policy)

    assert_once(counted.counts)


@pytest.mark.parametrize("action", [case[0] for case in _CASES.values()], ids=_CASES)
def test_a_question_to_a_run_reads_each_text_once(
    counted: Counted, action: Action, tmp_path: Path
) -> None:
    place = tmp_path / "ledger.db"
    with Interlock.open(place, policy=counted.policy, keys=tmp_path) as interlock:
        run = interlock.run("read once", workspace=tmp_path)
        for counter in counted.counts:
            counter.clear()
        ask(run, action)

        assert_once(counted.counts)


def ask(run: Run, action: Action) -> None:
    match action:
        case CommandAction(command=command, cwd=cwd):
            run.command(command, cwd=cwd)
        case ToolAction(name=name, params=params):
            run.tool(name, params)
        case EditAction(path=path, content=content, old=old):
            run.may_edit(path, content, old=old)


def assert_once(counts: Counts) -> None:
    """Fail with the texts that were read more than once."""
    assert [text for text, times in counts.parses.items() if times > 1] == []
    assert [text for text, times in counts.scans.items() if times > 1] == []
