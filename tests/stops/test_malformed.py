from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from interlock.errors import InputError
from interlock.policy.stops.malformed import tool_arguments


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_no_text_is_no_arguments(text: str) -> None:
    assert tool_arguments(text) == {}


def test_an_object_is_returned_as_it_is() -> None:
    assert tool_arguments(' {"a": [1, {"b": null}], "c": "\\u00e9"} ') == {
        "a": [1, {"b": None}],
        "c": "\u00e9",
    }


def complaint(text: str) -> str:
    with pytest.raises(InputError) as caught:
        tool_arguments(text)
    return str(caught.value)


def test_a_missing_comma_is_told_with_its_place() -> None:
    assert complaint('{"path": "a.py"\n "mode": "w"}') == snapshot(
        "the arguments are not JSON: expecting ',' delimiter at position 17 (line 2, column 2):"
        ' near `"path": "a.py" "mode": "w"}`; call the tool again with one JSON object, such as {}'
    )


def test_a_text_that_was_cut_off_is_told_so() -> None:
    assert complaint('{"path": "a.py", ') == snapshot(
        "the arguments are not JSON: expecting property name enclosed in double quotes at position"
        " 17 (line 1, column 18): the text ends there, as if it was cut off; call the tool again"
        " with one JSON object, such as {}"
    )


def test_a_long_word_is_not_shown_whole() -> None:
    told = complaint('{"key": "hunter2hunter2hunter2" oops}')

    assert "hunter2h" not in told
    assert "oops" in told


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[1]", "an array"),
        ('"x"', "a string"),
        ("1", "a number"),
        ("1.5", "a number"),
        ("true", "a boolean"),
        ("null", "null"),
    ],
)
def test_what_is_no_object_is_refused(text: str, kind: str) -> None:
    assert f"the arguments are {kind}, expected an object" in complaint(text)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_know_are_refused(name: str) -> None:
    assert f"the arguments hold `{name}`, which is not JSON" in complaint(f'{{"a": {name}}}')


def test_a_key_that_is_named_twice_is_refused() -> None:
    assert "the arguments name `path` twice" in complaint('{"path": 1, "path": 2}')
    assert "the arguments name `pass\u2026` twice" in complaint('{"password1": 1, "password1": 2}')


def test_too_deep_and_too_long_values_are_refused() -> None:
    assert "nested too deeply" in complaint('{"a":' * 100_000)
    assert "a number too long" in complaint('{"a": ' + "1" * 5_000 + "}")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_what_was_written_as_json_is_read_back(value: dict[str, object]) -> None:
    assert tool_arguments(json.dumps(value)) == value


@given(st.text())
def test_any_text_is_arguments_or_an_error_that_can_be_repaired(text: str) -> None:
    try:
        told = None
        arguments: object = tool_arguments(text)
    except InputError as error:
        told = str(error)
        arguments = None

    assert isinstance(arguments, dict) if told is None else "call the tool again" in told
