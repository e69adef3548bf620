"""What a policy calls a secret, besides the kinds that are known."""

from __future__ import annotations

import pytest

from interlock.errors import PolicyError
from interlock.secrets.scanner import SecretScanner
from secret_packs import RULES


def spans(text: str, *own: str, allow: tuple[str, ...] = ()) -> list[tuple[int, int]]:
    found = SecretScanner((), own=dict.fromkeys(own, "ours"), allow=allow).scan(text)
    return [(each.start, each.end) for each in found]


def test_a_match_is_the_secret_or_else_its_group() -> None:
    assert spans("a ACME-1 b ACME-22", "ACME-[0-9]+") == [(2, 8), (11, 18)]
    assert spans("pin: 1234", "pin: ([0-9]+)") == [(5, 9)]
    assert spans("pin: 1234", "pin: ([0-9]+)|none") == [(5, 9)]
    assert spans("none", "pin: ([0-9]+)|none") == []


def test_each_is_called_what_the_policy_says() -> None:
    own = {"ACME-[0-9]+": "a badge", "pin: ([0-9]+)": "a number"}
    found = SecretScanner((), own=own).scan("pin: 1234 ACME-1")

    assert [each.rule.title for each in found] == ["a number", "a badge"]


def test_they_count_beside_the_kinds_that_are_known() -> None:
    text = f"token=ghp_{'aB3dE5gH7j' * 3}kLmN0p and ACME-1"
    known = SecretScanner(RULES).scan(text)
    both = SecretScanner(RULES, own={"ACME-[0-9]": "ours"}).scan(text)

    assert [each.end for each in both] == [*(each.end for each in known), len(text)]
    assert known


def test_those_that_overlap_are_one() -> None:
    assert spans("x ACME-12 y", "ACME-[0-9]+", "[A-Z]-[0-9]+ y") == [(2, 11)]

    text = f"token=ghp_{'aB3dE5gH7j' * 3}kLmN0p"
    (both,) = SecretScanner(RULES, own={"gh[a-z]_.{20}": "ours"}).scan(text)
    assert both.end == len(text)


def test_what_is_empty_or_allowed_is_none() -> None:
    assert spans("abc", "x*") == []
    assert spans("ACME-1 ACME-2", "ACME-[0-9]", allow=("ACME-1",)) == [(7, 13)]


def test_more_than_can_be_told_apart_are_one() -> None:
    assert spans("x" * 20_000, "x") == [(0, 20_000)]


def test_a_pattern_that_is_none_is_refused_by_its_key() -> None:
    with pytest.raises(PolicyError, match=r"secrets\.patterns"):
        SecretScanner((), own={"(": "ours"})
