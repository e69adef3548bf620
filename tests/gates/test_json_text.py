"""JSON that a model wrote is read, or said to be wrong where it is wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from gates.policies import by_gate, messages_of, rules_of
from interlock import Decision, evaluate_tool_use
from interlock.policy.actions.calls.json_text import Unreadable, name_given_twice, value_from_json
from interlock.secrets.scanner import SecretMatch
from interlock.service.policies.policy_files import default_policy
from secret_generator import from_template

_TOKEN = from_template("ghp_[A-Za-z0-9]{36}", 3)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def _nothing(_text: str) -> Sequence[SecretMatch]:
    return ()


def _message(text: str) -> str:
    value = value_from_json(text, default_policy().scanner.scan)
    assert isinstance(value, Unreadable)
    return value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            '{"a": 1, "b": ',
            "are not JSON: the text ends at line 1, column 14 (offset 13), as if it was cut off,"
            ' behind `{"a": 1, "b":`',
            id="cut-off",
        ),
        pytest.param(
            '{"a": 1,\n "b" 2}',
            'are not JSON: expected \':\' at line 2, column 6 (offset 14), near `{"a": 1, "b" 2}`',
            id="second-line",
        ),
        pytest.param(
            '{"é": NaN}',
            'are not JSON: invalid character at line 1, column 7 (offset 6), near `{"é": NaN}`',
            id="no-number",
        ),
        pytest.param(
            '{"a": -Infinity}',
            'are not JSON: invalid character at line 1, column 8 (offset 7), near `{"a": -Infi…}`',
            id="no-end",
        ),
        pytest.param('{"a": 1e999}', "are not JSON: number out of range", id="too-large"),
        pytest.param(
            "[" * 100_000,
            "are not JSON that can be read: they are nested too deeply",
            id="too-deep",
        ),
        pytest.param(
            "{'a': 1}",
            "are not JSON: object keys must be strings at line 1, column 2 (offset 1), near"
            " `{'a': 1}`",
            id="other-quotes",
        ),
        pytest.param(
            "{`a`: 1}",
            "are not JSON: object keys must be strings at line 1, column 2 (offset 1), near"
            " `{'a': 1}`",
            id="backquotes",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_stands_there(text: str, message: str):
    assert _message(text) == message


@pytest.mark.parametrize("cut", range(1, 40))
def test_no_part_of_a_credential_is_shown_wherever_the_text_breaks(cut: int):
    text = f'{{"note": "{_TOKEN}", "b" "{_TOKEN}"'
    for broken in (text, text[: len(text) - cut]):
        said = " ".join(messages_of(evaluate_tool_use("note", broken)))

        shown = [_TOKEN[n : n + 8] for n in range(len(_TOKEN) - 7) if _TOKEN[n : n + 8] in said]
        assert shown == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"a": 1, "a": 2}', "a"),
        ('{"a": {"b": [{"c": 1, "d": 2, "c": 3}]}}', "c"),
        ('{"a": 1, "\\u0061": 2}', "a"),
        ('{"": 1, "": 2}', ""),
        ('{"\\ud83d": 1, "\\ud83d": 2}', "\\ud83d"),
        ('{"a\\"b": 1, "a\\"b" : 2}', 'a"b'),
        ('[{"a": 1}, {"a": "}", "b": {}, "a": 2}]', "a"),
    ],
)
def test_a_name_that_stands_twice_in_one_object_is_found(text: str, name: str):
    assert name_given_twice(text) == name


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": 2}',
        '[{"a": 1}, {"a": 2}]',
        '{"a": {"a": {"a": "a"}}}',
        '{"a": "\\"a\\": 1, {", "b": "a", "c": "}"}',
        '{"\\u0061": 1, "b": "\\\\"}',
        '"a"',
    ],
)
def test_a_name_in_several_objects_and_in_texts_is_no_second_one(text: str):
    assert name_given_twice(text) is None


@given(_JSON)
def test_whatever_is_written_once_is_read_as_it_is(value: object):
    assert value_from_json(json.dumps(value), _nothing) == value


@examples(15, soak=500)
@given(st.dictionaries(st.text(max_size=3), _JSON, min_size=1), _JSON)
def test_an_entry_that_is_repeated_is_always_refused(entries: dict[str, object], other: object):
    name = next(iter(entries))
    text = f"{json.dumps(entries)[:-1]}, {json.dumps(name)}: {json.dumps(other)}}}"

    assert name_given_twice(f'{{"outer": [{text}]}}') == name


def test_parameters_that_name_a_key_twice_are_refused_with_the_key():
    verdict = evaluate_tool_use("Bash", '{"command": "ls", "command": "pwd"}')

    assert verdict.decision is Decision.BLOCK
    assert rules_of(verdict) == ["schema.duplicate-key"]
    (finding,) = by_gate(verdict, "schema")
    assert "`command` twice" in finding.message
    assert "names each key once" in finding.remediation
