"""What a user's condition can ask about: one flat set of names for every kind of action."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.commands.analysis import CommandAnalysis
from interlock.commands.shell.command import Command, Effect
from interlock.policy.actions.conditions import plain_facts

_NONE: Mapping[str, object] = {
    "kind": "",
    "command": "",
    "cwd": "",
    "tool": "",
    "params": {},
    "path": "",
    "content": "",
    "diff_lines": 0,
    "commands": [],
    "effects": [],
}


def command_facts(command: str, cwd: str | None, lowered: CommandAnalysis) -> dict[str, object]:
    """Return the facts about a command line."""
    return _plain(
        kind="command",
        command=command,
        cwd=cwd or "",
        commands=[_command(each) for each in lowered.commands],
        effects=[_effect(each) for each in lowered.effects],
    )


def tool_facts(tool: str, params: Mapping[str, object]) -> dict[str, object]:
    """Return the facts about a tool call."""
    return _plain(kind="tool", tool=tool, params=params)


def edit_facts(path: str, content: str, diff_lines: int) -> dict[str, object]:
    """Return the facts about an edit."""
    return _plain(kind="edit", path=path, content=content, diff_lines=diff_lines)


def _plain(**facts: object) -> dict[str, object]:
    return {name: plain_facts(value) for name, value in {**_NONE, **facts}.items()}


def _command(command: Command) -> dict[str, object]:
    return {
        "program": command.program,
        "args": [word.text for word in command.argv[1:]],
        "flags": sorted(command.invocation.flags),
        "operands": [word.text for word in command.invocation.operands],
        "line": command.line,
        "via": list(command.frame.via),
    }


def _effect(effect: Effect) -> dict[str, object]:
    return {"kind": effect.kind.value, "target": effect.target, "recursive": effect.recursive}
