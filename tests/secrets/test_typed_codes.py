"""Codes that people type: PINs, codes to recover with, passwords in groups."""

from __future__ import annotations

import base64

import pytest

from secret_generator import from_template
from secret_packs import SCANNER

_DIGITS = (
    "PIN: {}", "card_pin={}", 'the pin for the vault: "{}"', "your PIN is {}.", "PUK = {},",
)  # fmt: skip
_GROUPED = (
    "Backup codes:\n{}\n", "recovery_codes:\n  - {}", "your recovery key is {}.",
    "password: {}", "app password for mail: '{}'", "Recovery codes:\n1. {}\n",
    "Activation code: {}",
)  # fmt: skip
_FILLED_IN = (
    "PIN: 1234", "PIN: 4321", "PIN=0000", "pin: 112211", "PIN code 560034", "pin = 13",
    "spin: 7193", "Recovery codes: print them and keep them safe", "PIN: 7193ms", "pin: 7193.5",
    "password: only with two words here", "backup code: XXXX-XXXX", "PIN: <pin>",
)  # fmt: skip


@pytest.mark.parametrize("form", _DIGITS)
def test_digits_are_found_beside_the_word_for_them(form: str):
    text = form.format("71930528")
    (match,) = SCANNER.scan(text)

    assert text[match.start : match.end] == "71930528"


@pytest.mark.parametrize("form", _GROUPED)
def test_groups_made_by_chance_are_found_beside_the_word_for_them(form: str):
    group = "[b-df-hj-np-tv-xz]{4}"
    code = from_template(" ".join([group] * 4), form)
    text = form.format(code)
    (match,) = SCANNER.scan(text)

    assert text[match.start : match.end].strip() == code


def test_a_list_of_single_codes_is_one_find():
    codes = from_template("\n".join(["[a-z]{3}7[a-z]{2}4q"] * 4), "codes")
    (match,) = SCANNER.scan(f"one-time codes:\n{codes}\n")

    assert match.end - match.start == len(codes)


@pytest.mark.parametrize("text", _FILLED_IN)
def test_what_is_counted_up_filled_in_or_a_number_of_something_else_is_none(text: str):
    assert SCANNER.scan(text) == []


@pytest.mark.parametrize(("login", "found"), [("user:pass", 0), ("user:Kq7#maz2Xw", 1)])
def test_a_header_that_only_shows_how_is_none(login: str, found: int):
    encoded = base64.b64encode(login.encode("ascii")).decode("ascii")

    assert len(SCANNER.scan(f"Authorization: Basic {encoded}")) == found


@pytest.mark.parametrize(("name", "found"), [("x-auth-token", 1), ("x-csrf-token", 0)])
def test_what_guards_a_form_is_no_credential(name: str, found: int):
    value = from_template("[A-Za-z0-9]{28}4Xz", "form")

    assert len(SCANNER.scan(f"{name}: {value}")) == found
