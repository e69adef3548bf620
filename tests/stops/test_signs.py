"""Patterns that are looked for all at once: each is found by itself, and as exactly as it says."""

import pytest

from interlock.policy.stops.phrases import Signs


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        pytest.param("let me check it", ["act"], id="one"),
        pytest.param("let me check the tests", ["act", "tests"], id="two"),
        pytest.param("let me know about the tests", ["tests"], id="not-exactly"),
        pytest.param("the unit-tests and the contests", [], id="within-a-word"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_each_sign_is_found_where_it_stands(sentence: str, expected: list[str]) -> None:
    signs = Signs()
    named = {
        "act": signs.add(r"\blet me ", exactly=r"\blet me (?!know\b)"),
        "tests": signs.whole("tests?"),
    }

    assert [name for name, sign in named.items() if sign.is_in(sentence)] == expected
