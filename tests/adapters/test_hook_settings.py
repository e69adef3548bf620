"""Hooks in somebody's settings: every byte of theirs stays, and comes back."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adapters.jsonc_files import settings_texts
from effort import examples
from interlock.adapters.installation.client_hooks import CLIENTS, Launch, wanted_hooks
from interlock.adapters.installation.hook_settings import (
    Wanted,
    found_hooks,
    with_hooks,
    without_hooks,
)
from interlock.adapters.installation.json_document import JsonDocument
from interlock.errors import InputError

CLAUDE = CLIENTS["claude-code"]
LAUNCH = Launch("/usr/bin/python3", "/opt/site-packages/interlock/hook_entry.py")
OTHER = Launch("/old/python", "/old/interlock/hook_entry.py", wait_s=60)
EVENTS = ("PreToolUse", "SessionStart", "Stop")
"""Some of them: each is put in by itself, and more would only take longer."""
slow = examples(15, soak=500)


def value(text: str) -> object:
    document = JsonDocument(text, "settings.json")
    return document.value(document.root)


def wanted(launch: Launch = LAUNCH) -> Wanted:
    every = wanted_hooks(CLAUDE, launch)
    return {each: every[each] for each in EVENTS}


def installed(text: str, launch: Launch = LAUNCH) -> str:
    return with_hooks(text, "settings.json", wanted(launch))


def uninstalled(text: str, before: str | None) -> str | None:
    return without_hooks(text, "settings.json", before, {})


def found(text: str) -> list[str]:
    return [each.event for each in found_hooks(JsonDocument(text, "settings.json"))]


@slow
@given(settings_texts)
def test_they_go_in_once_replace_an_older_entry_and_go_without_a_trace(text: str) -> None:
    once = installed(text)
    updated = installed(installed(text, OTHER))

    assert sorted(found(once)) == sorted(EVENTS)
    assert installed(once) == once
    assert value(updated) == value(once)
    assert uninstalled(once, text) == text
    assert uninstalled(updated, text) == text


@slow
@given(settings_texts, st.sampled_from(['"mine": [1],', '\n  "mine": {}, // mine\n']))
def test_what_others_changed_meanwhile_stays(text: str, added: str) -> None:
    start = JsonDocument(text, "").root.start + 1
    assume(JsonDocument(text, "").root.items)
    ours = installed(text)

    left = uninstalled(ours[:start] + added + ours[start:], text)

    assert left == text[:start] + added + text[start:]


@slow
@given(settings_texts)
def test_hooks_that_others_added_behind_ours_stay(text: str) -> None:
    document = JsonDocument(installed(text), "")
    hooks = document.root.member("hooks")
    listed = hooks and hooks.value.member("PreToolUse")
    assert listed is not None
    theirs = {"hooks": [{"type": "command", "command": "mine"}]}

    left = uninstalled(document.appended(listed.value, None, theirs), text)

    assert left is not None
    assert found(left) == []
    assert theirs in json.loads(json.dumps(value(left)))["hooks"]["PreToolUse"]


def test_a_hook_that_others_put_into_our_group_stays() -> None:
    ours = installed("{}")
    mine = '{"type": "command", "command": "mine"}'
    shared = ours.replace('"hooks": [\n          {', f'"hooks": [{mine},\n          {{', 1)

    left = uninstalled(shared, "{}")

    assert left is not None
    assert value(left) == {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [json.loads(mine)]}]}}


def test_nothing_is_left_of_a_file_that_was_made_for_it() -> None:
    assert uninstalled(installed("{\n}\n"), None) is None


def test_events_of_an_older_version_go() -> None:
    older = with_hooks("{}", "", {**wanted(), "Notification": wanted()["Stop"]})

    assert "Notification" in found(older)
    assert value(installed(older)) == value(installed("{}"))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_plain_json_means_what_it_means_elsewhere(told: object) -> None:
    assert value(json.dumps(told, indent=2)) == told


def test_it_is_written_as_the_file_is_written() -> None:
    text = installed('{\r\n\t"model": "x" // mine\r\n}\r\n')

    assert text.startswith(
        '{\r\n\t"model": "x", // mine\r\n\t"hooks": {\r\n\t\t"PreToolUse": [\r\n'
    )
    assert "\n" not in text.replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("{\n  'a': 1}", "2:3", "a name in quotes"),
        ('{"a" 1}', "1:6", "expected `:`"),
        ('{"a": 1\n "b": 2}', "2:2", "expected `,` or `}`"),
        ('{"a": [1 2]}', "1:10", "expected `,` or `]`"),
        ('{"a": tr}', "1:7", "expected a value"),
        ('{"a": 01}', "1:8", "expected `,` or `}`"),
        ('{"a": "\n"}', "1:7", "expected a value"),
        ('{"a": 1', "1:8", "expected `,` or `}`"),
        ('{"a": 1} x', "1:10", "behind the end"),
        ("{} /* open", "1:4", "behind the end"),
        ("[" * 300, "1:201", "200 levels"),
        ("[]", "1:1", "no object"),
        ('{"hooks": []}', "1:2", "`hooks` is no object"),
        ('{"hooks": {"Stop": {}}}', "1:12", "the hooks of `Stop` are no list"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, place: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        installed(text)

    assert f"`settings.json`:{place}: " in str(refused.value)
    assert problem in str(refused.value)
