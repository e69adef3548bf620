"""Chance or a person: the measure behind what counts as random."""

from __future__ import annotations

import pytest

from interlock.secrets.randomness import is_counted_up, is_hexadecimal, random_bits
from secret_generator import from_template

_MADE_BY_CHANCE = (
    "[a-z]{24}", "[A-Z]{24}", "[A-Za-z]{20}", "[A-Za-z0-9]{20}", "[a-z0-9]{20}", "[0-9a-f]{24}",
    "[0-9A-F]{32}", "[A-Za-z0-9_-]{32}", "[A-Z2-7]{32}", "[A-Za-z0-9]{4}![A-Za-z0-9]{4}#[a-z]{3}",
)  # fmt: skip
_WRITTEN_BY_PEOPLE = (
    "getAccessTokenFromStorage", "AUTHENTICATION_REQUIRED", "X25519PrivateKey", "oauth2-proxy",
    "application/x-www-form-urlencoded", "moonshot-v1-128k-vision", "correcthorsebatterystaple",
    "registerForRemoteNotifications", "2024-05-01", "hash%20of%20the%20document",
)  # fmt: skip


@pytest.mark.parametrize("template", _MADE_BY_CHANCE)
def test_what_chance_made_is_told_by_its_bits(template: str):
    bits = sorted(random_bits(from_template(template, seed)) for seed in range(40))

    assert bits[2] > 5
    assert bits[20] > 15


@pytest.mark.parametrize("text", _WRITTEN_BY_PEOPLE)
def test_what_people_write_is_not_surprising(text: str):
    assert random_bits(text) < 4


def test_bits_grow_with_the_length():
    letters = from_template("[a-z]{64}", 3)

    assert random_bits(letters[:16]) < random_bits(letters[:32]) < random_bits(letters)


@pytest.mark.parametrize("text", ["", "x", "7", "é", "\udc80", "-"])
def test_a_text_of_nearly_nothing_says_nothing(text: str):
    assert abs(random_bits(text)) < 1


def test_a_sign_speaks_for_chance_but_not_where_it_encodes_another():
    assert random_bits("Xkqp!lmwr") > random_bits("Xkqp-lmwr")
    assert random_bits("ab%20cd%20ef") < random_bits("ab%zzcd%zzef")


def test_hexadecimal_digits_may_stand_in_groups():
    assert is_hexadecimal("DEAD-beef-00")
    assert not is_hexadecimal("deadbeeg")


@pytest.mark.parametrize("text", ["0123456789abcdef", "00112233445566778899aabb", "abcdefghijklm"])
def test_what_counts_up_was_not_made_by_chance(text: str):
    assert is_counted_up(text)
    assert not is_counted_up(from_template("[0-9a-f]{32}", text))
