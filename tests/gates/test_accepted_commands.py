"""Commands that a person has agreed to for good: exactly these, in exactly that folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock import CommandAction, EditAction, ToolAction, load_policy
from interlock.model.verdict import Decision
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.gates.destructive_gate import accepted_text
from interlock.policy.gates.judgement import judge

_PUSH = "git push --force origin topic"
_FOLDER = "/home/ada/my web"


@pytest.fixture
def policy(tmp_path: Path) -> CompiledPolicy:
    file = tmp_path / "policy.toml"
    file.write_text(
        "[destructive-ops]\naccepted-commands = ["
        f'''"cd '{_FOLDER}' && {_PUSH}", "{_PUSH} --tags", "{_PUSH} && $CMD",'''
        ' "rm -rf /", "git push --force $X"]\n'
    )
    return load_policy(user=file, project=None)


def _decision(policy: CompiledPolicy, command: str, cwd: str | None = _FOLDER) -> Decision:
    return judge(CommandAction(command=command, cwd=cwd), policy).decision


def test_what_is_accepted_only_warns(policy: CompiledPolicy) -> None:
    assert _decision(policy, _PUSH) is Decision.WARN
    assert _decision(policy, f"{_PUSH} --tags", None) is Decision.WARN


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        (f"{_PUSH}s", _FOLDER),
        ("git push --force origin main", _FOLDER),
        (f"{_PUSH} && git stash drop", _FOLDER),
        (f" {_PUSH}", _FOLDER),
        (_PUSH, "/home/ada/other"),
        (_PUSH, None),
        (f"{_PUSH} --tags", _FOLDER),
    ],
)
def test_whatever_differs_asks_as_before(
    command: str, cwd: str | None, policy: CompiledPolicy
) -> None:
    assert _decision(policy, command, cwd) is Decision.REQUIRE_CONFIRMATION


def test_what_blocks_is_never_accepted(policy: CompiledPolicy) -> None:
    assert _decision(policy, "rm -rf /", None) is Decision.BLOCK


def test_what_is_only_known_at_run_time_is_never_accepted(policy: CompiledPolicy) -> None:
    for command in ("git push --force $X", f"{_PUSH} && $CMD"):
        assert _decision(policy, command, None) is Decision.REQUIRE_CONFIRMATION


def test_a_tool_that_carries_the_command_is_the_same(policy: CompiledPolicy) -> None:
    params = {"command": _PUSH, "cwd": _FOLDER}

    assert judge(ToolAction(name="Bash", params=params), policy).decision is Decision.WARN
    edit = EditAction(path="~/.bashrc", content="alias ll=ls\n")
    assert judge(edit, policy).decision is Decision.REQUIRE_CONFIRMATION


def test_a_command_is_named_with_its_folder() -> None:
    assert accepted_text("ls", None) == "ls"
    assert accepted_text("ls", "/srv/it's") == """cd '/srv/it'"'"'s' && ls"""
