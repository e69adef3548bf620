"""A request as programs send it becomes an action, or is refused with what was expected."""

from __future__ import annotations

import re

import pytest

from interlock import InputError
from interlock.model.action import (
    Action,
    CommandAction,
    EditAction,
    ToolAction,
    action_from_request,
    action_given,
    call_text,
    command_line,
    line_of,
    request_from_action,
    summary_of,
)


@pytest.mark.parametrize(
    ("request_", "action"),
    [
        ({"command": "ls"}, CommandAction(command="ls")),
        ({"id": 1, "command": "ls", "cwd": "/srv"}, CommandAction(command="ls", cwd="/srv")),
        ({"tool": "Bash"}, ToolAction(name="Bash", params={})),
        ({"tool": "Bash", "params": '{"a": 1}'}, ToolAction(name="Bash", params='{"a": 1}')),
        ({"tool": "Bash", "params": {"a": 1}}, ToolAction(name="Bash", params={"a": 1})),
        ({"path": "a", "content": "b"}, EditAction(path="a", content="b")),
        (
            {"path": "a", "content": "b", "old": "c", "diff_lines": 2},
            EditAction(path="a", content="b", old="c", diff_lines=2),
        ),
    ],
)
def test_a_request_is_read(request_: dict[str, object], action: Action) -> None:
    assert action_from_request(request_) == action
    assert action_given(request_) == action_given(action) == action
    assert action_from_request(request_from_action(action)) == action


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({}, "got nothing"),
        ({"id": 1}, "got `id`"),
        ({"command": "ls", "tool": "Bash"}, "got `command`, `tool`"),
        ({"command": "ls", "params": {}}, "`params` does not go with `command`"),
        ({"command": None}, "`command` is missing, expected a string"),
        ({"command": ["ls"]}, "`command` is an array, expected a string"),
        ({"command": "ls", "cwd": 1}, "`cwd` is a number, expected a string"),
        ({"tool": "Bash", "params": True}, "`params` is a boolean, expected an object"),
        ({"path": "a", "content": "b", "diff_lines": True}, "`diff_lines` is a boolean"),
        ({"path": "a", "content": "b", "diff_lines": -1}, "`diff_lines` is a number"),
        ({"path": "a", "content": b"b"}, "`content` is something else, expected a string"),
    ],
)
def test_what_describes_no_action_is_refused(request_: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        action_from_request(request_)


def test_a_list_of_words_is_quoted_as_a_shell_wants_it() -> None:
    assert command_line("ls -l") == "ls -l"
    assert command_line(["rm", "a b", "$HOME"]) == "rm 'a b' '$HOME'"


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"command": "ls", "cwd": "/src"}, "Bash: ls (in /src)"),
        ({"command": "ls"}, "Bash: ls"),
        ({"command": "ls", "timeout": 9}, 'Bash {"command":"ls","timeout":9}'),
        ({"command": 7}, 'Bash {"command":7}'),
        ('{"command": ', 'Bash {"command": '),
        ('{"command":"ls","cwd":"/","interactive":true}', "Bash: ls (in /)"),
        ('{"command":"ls","timeout":9}', 'Bash {"command":"ls","timeout":9}'),
    ],
)
def test_a_call_is_one_line_that_hides_nothing(params: dict[str, object] | str, text: str) -> None:
    assert call_text(ToolAction(name="Bash", params=params)) == text


@pytest.mark.parametrize(
    ("params", "line"),
    [
        ({"command": "ls", "cwd": "/src"}, "ls"),
        ('{"command": "ls"}', "ls"),
        ({"cmd": "ls", "workdir": "/src"}, "ls"),
        ({"command": ["ls"]}, None),
        ({"path": "a.py"}, None),
        ("ls", None),
    ],
)
def test_a_call_that_runs_a_line_shows_it(
    params: dict[str, object] | str, line: str | None
) -> None:
    assert line_of(ToolAction(name="Bash", params=params)) == line


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (CommandAction(command="ls -la"), "ls -la"),
        (EditAction(path="app.py", content="x"), "write app.py"),
        (ToolAction(name="Bash", params={"command": "ls"}), "Bash: ls"),
    ],
)
def test_an_action_is_told_in_a_line(action: Action, words: str) -> None:
    assert summary_of(action) == words
