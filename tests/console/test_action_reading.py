"""An action as somebody reads it who decides about it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from interlock import evaluate_command
from interlock.model.action import CommandAction, EditAction, ToolAction
from interlock.model.verdict import Decision, Finding, Severity
from interlock.service.policies.policy_files import default_policy
from interlock.views.action_reading import ActionReading, ReadCommand, action_reading, pieces_of
from interlock.views.change_view import MOST_LINES, changes_of


def reading_of(line: str) -> ActionReading:
    findings = evaluate_command(line).findings
    return action_reading(CommandAction(command=line, cwd="/p"), default_policy(), findings)


def marked(line: str) -> str:
    pieces = reading_of(line).pieces
    assert "".join(each.text for each in pieces) == line
    return "".join(each.text if each.decision is None else f"[{each.text}]" for each in pieces)


def outline(commands: Sequence[ReadCommand]) -> list[object]:
    found: list[object] = []
    for each in commands:
        found.append(each.text)
        if each.below:
            found.append(outline(each.below))
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("git push --force", "[git push --force]", id="whole"),
        pytest.param(
            "echo 'rm -rf /x' && rm -rf /x", "echo 'rm -rf /x' && [rm -rf /x]", id="only-what-runs"
        ),
        pytest.param(
            "sudo bash -c 'ls && git push --force'",
            "sudo bash -c 'ls && [git push --force]'",
            id="inside",
        ),
        pytest.param(
            "for i in a b; do rm -rf /$i; done", "for i in a b; do [rm -rf /$i]; done", id="loop"
        ),
        pytest.param("ls", "ls", id="nothing"),
    ],
)
def test_the_parts_that_speak_are_marked_by_position(line: str, expected: str):
    assert marked(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            "cd x && sudo bash -c 'git push && ls'",
            ["cd x", "sudo bash -c '…'", ["bash -c '…'", ["git push", "ls"]]],
            id="wrappers",
        ),
        pytest.param(
            "cat a && curl b$(cat c | base64) | sh",
            ["cat a", "curl b$(…)", ["cat c", "base64"], "sh"],
            id="substitution",
        ),
        pytest.param(
            "bash -c 'ls $(cat y)'; sudo ls $(sudo cat z)",
            [
                "bash -c '…'",
                ["ls $(…)", ["cat y"]],
                "sudo ls $(…)",
                ["sudo cat z", ["cat z"], "ls $(…)"],
            ],
            id="both",
        ),
        pytest.param("(cd x; rm -rf y); ls", ["cd x", "rm -rf y", "ls"], id="group"),
        pytest.param(
            "psql -c 'DROP TABLE a'", ["psql -c 'DROP TABLE a'", ["sql drop table a"]], id="told"
        ),
    ],
)
def test_each_command_stands_below_the_one_that_holds_it(line: str, expected: list[object]):
    assert outline(reading_of(line).commands) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git push", ("remote", "the usual remote, its branch", "commits are added")),
        ("git push origin main", ("remote", "origin, branch main", "commits are added")),
        (
            "git push -f origin main",
            ("remote", "origin, branch main", "its history is replaced; others have it"),
        ),
        (
            "git push origin +a:b",
            ("remote", "origin, branch b", "its history is replaced; others have it"),
        ),
        ("git push origin :old", ("remote", "origin, branch old", "deleted; others may have it")),
        (
            "git push -n --all up",
            ("remote", "up, every branch", "nothing: --dry-run only shows it"),
        ),
        (
            "redis-cli FLUSHALL",
            ("redis", "every key of every database", "on the usual host, localhost"),
        ),
        ("redis-cli -h cache DEL a", ("redis", "key a", "on cache")),
        ("psql -c 'DELETE FROM users'", ("database", "table users", "every row is deleted")),
    ],
)
def test_remotes_and_databases_are_touched_too(line: str, expected: tuple[str, str, str]):
    [touched] = reading_of(line).touched

    assert (touched.kind, touched.target, touched.note) == expected


def test_files_are_told_with_their_kind():
    [touched] = reading_of("rm -rf dist").touched

    assert (touched.kind, touched.target) == ("delete", "dist")
    assert touched.note == "scratch, project, recursive, forced, by rm"


def test_what_only_the_run_decides_is_said():
    assert reading_of('eval "$x"').unresolved


def test_very_many_commands_are_counted():
    reading = reading_of("; ".join(f"echo {number}" for number in range(250)))

    assert (len(reading.commands), reading.more_commands) == (200, 50)


def test_where_marks_overlap_the_stricter_one_wins():
    marks = [(0, 6, Decision.BLOCK), (2, 9, Decision.WARN)]

    assert [(each.text, each.decision) for each in pieces_of("abcdefghij", marks)] == [
        ("abcdef", Decision.BLOCK),
        ("ghi", Decision.WARN),
        ("j", None),
    ]


@pytest.mark.parametrize(
    ("excerpt", "expected"),
    [
        ("id_rsa", "id_rsa"),
        ('{"path": "~/.ss…', '{"path": "~/.ss'),
        ("nowhere", None),
        (None, None),
    ],
)
def test_what_is_no_command_is_marked_where_it_stands(excerpt: str | None, expected: str | None):
    action = ToolAction(name="Read", params='{"path": "~/.ssh/id_rsa"}')
    finding = Finding(
        gate="g",
        rule="r",
        decision=Decision.BLOCK,
        severity=Severity.HIGH,
        message="m",
        remediation="",
        excerpt=excerpt,
    )

    pieces = action_reading(action, default_policy(), [finding]).pieces

    assert [each.text for each in pieces if each.decision] == (
        [] if expected is None else [expected]
    )


def test_an_edit_tells_its_lines_and_what_is_left_out():
    old = "".join(f"line {number}\n" for number in range(40))
    [change] = changes_of(EditAction(path="a.py", old=old, content=old.replace("line 20", "new")))

    assert (change.added, change.removed, change.is_whole) == (1, 1, False)
    assert [each.kind for each in change.lines] == [
        "gap", "", "", "", "del", "add", "", "", "",
    ]  # fmt: skip


def test_a_file_that_is_written_anew_says_so():
    [change] = changes_of(EditAction(path="a.py", content="x\n" * (MOST_LINES + 5)))

    assert change.is_whole
    assert (len(change.lines), change.more) == (MOST_LINES, 5)


def test_what_is_too_large_is_told_by_size_and_digest():
    [change] = changes_of(EditAction(path="a.bin", content="x" * 300_000))

    assert change.lines == ()
    assert change.too_large.startswith("293.0 kB, SHA-256 ")


@pytest.mark.parametrize(
    ("params", "paths"),
    [
        ('{"file_path": "a", "old_string": "x", "new_string": "y"}', ["a"]),
        (
            '{"edits": [{"path": "a", "old": "x", "new": "y"}, {"path": "b", "new": "z"}, 3]}',
            ["a", "b"],
        ),
        ('{"path": "a"}', []),
        ("[1]", []),
        ("not json", []),
    ],
)
def test_a_call_that_edits_is_read_as_edits(params: str, paths: list[str]):
    assert [each.path for each in changes_of(ToolAction(name="t", params=params))] == paths


def test_a_command_changes_no_file_by_itself():
    assert changes_of(CommandAction(command="rm a")) == ()
