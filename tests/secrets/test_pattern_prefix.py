"""What every match of a pattern begins with, and how short or long one can be."""

from __future__ import annotations

import random
import re

import pytest

from interlock.secrets.candidate_search import compiled
from interlock.secrets.pattern_prefix import is_bounded, is_literal, prefixes, shortest
from interlock.secrets.transcription import text_as_bytes
from secret_generator import examples_of
from secret_packs import RULES


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", {"abc"}),
        (r"sk\.live", {"sk.live"}),
        ("gh[us]_x", {"ghu_x", "ghs_x"}),
        ("y[0-2]_", {"y0_", "y1_", "y2_"}),
        ("(?:ab|cd)e", {"abe", "cde"}),
        ("ab|cd", {"ab", "cd"}),
        ("(?:M[TD]|QX)[A-Za-z]{22}", {"MT", "MD", "QX"}),
        ("(?:EAAA[A-Za-z]{56}|sq0-x)z", {"EAAA", "sq0-x"}),
        ("a(?:b|c)?d", {"ad", "abd", "acd"}),
        ("ab[A-Za-z]{2}?c", {"ab"}),
        ("ab(?:cd[A-Z])?e", {"ab"}),
        (r"\bcurl\b x", {"curl x"}),
        ("x" * 40, {"x" * 24}),
    ],
)
def test_what_is_plain_is_read(pattern: str, expected: set[str]):
    assert prefixes(pattern) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "a",
        "[A-Za-z]{3}x",
        "a{3}bcd",
        "ab*",
        "(?i:ab)c",
        r"\dab",
        "[^a]bc",
        r"[\n]bc",
        ".abc",
        "[0-9][0-9][0-9]",
        "[abcdefghijklmnopqr]",
        "ab|c",
        "ab)",
        "a?",
        "(?:a|b)?(?:c|d)",
    ],
)
def test_what_cannot_be_told_has_no_prefix(pattern: str):
    found = prefixes(pattern)

    assert not found or all(len(text) >= 2 for text in found)
    assert pattern == "[0-9][0-9][0-9]" or not found


def test_a_pattern_of_few_literals_is_told_from_others():
    assert is_literal("secret_?key")
    assert not is_literal("secret.key")
    assert not is_literal("(?:a|b|c|d|e)" * 3)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a{3,8}", True),
        ("[*+]{2}", True),
        (r"[\]*]b\+\*", True),
        ("a+", False),
        ("a*", False),
        ("a{3,}", False),
        ("(?:a|b){2}", True),
    ],
)
def test_a_match_that_can_be_long_is_told(pattern: str, expected: bool):
    assert is_bounded(pattern) is expected


def test_every_example_of_a_rule_begins_and_is_as_long_as_its_pattern_says():
    known = 0
    for rule in RULES:
        heads = tuple(head.lower() for head in rule.beginnings)
        least = shortest(rule.regex)
        pattern = compiled(rule.regex)
        known += bool(heads)
        assert least >= rule.least_length > 0, rule.name
        for text in examples_of(rule, 1):
            match = pattern.search(text_as_bytes(text))
            assert match is not None or not heads, rule.name
            found = text if match is None else text[slice(*match.span())]
            assert len(found) >= least, rule.name
            assert not heads or found.lower().startswith(heads), rule.name

    assert known > 500


def test_prefixes_agree_with_what_a_pattern_matches():
    """Whatever a small pattern matches begins with one of its prefixes."""
    chance = random.Random(8)
    tried = 0
    for _ in range(3_000):
        pattern = "".join(chance.choices(["a", "b", "[ab]", "(?:a|bb)", "(?:ab)?", "b?"], k=4))
        heads = prefixes(pattern)
        if not heads:
            continue
        for _ in range(10):
            text = "".join(chance.choices("ab", k=6))
            match = re.match(pattern, text)
            if match is not None:
                tried += 1
                assert match.group().startswith(tuple(heads)), (pattern, text)
    assert tried > 1_000


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", 3),
        ("a*b?c+d", 2),
        ("a{3}b{2,}c{0,4}", 5),
        ("a{2}?b+?c*?", 3),
        ("ab|c", 1),
        ("(?:ab|cde){2}f", 5),
        ("(?P<x>ab(?:c|de)?)f", 3),
        (r"(?i)\bab\b(?-i:c)$", 3),
        (r"[]a-z\]]{4}\.\x41\x{42}\p{L}\pN[[:alpha:]]x", 11),
        (r"[^]]\)\|\(", 4),
        ("", 0),
    ],
)
def test_no_match_is_shorter_than_that(pattern: str, expected: int):
    assert shortest(pattern) == expected
