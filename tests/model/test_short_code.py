"""Short codes: the same for the same id, never taken for another, and easy to type."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.short_code import (
    CODE_LENGTH,
    LEAST_TYPED,
    code_of,
    code_typed,
    codes_of,
    is_meant,
)

_LOOK_ALIKES = "0OD1ILUV2Z5S8B6"
_IDS = st.uuids().map(str)
_HEXADECIMAL = st.text("0123456789abcdefABCDEF-", min_size=1)


@given(thing_id=_IDS)
def test_a_code_is_six_characters_that_nobody_mixes_up(thing_id: str) -> None:
    code = code_of(thing_id)

    assert len(code) == CODE_LENGTH
    assert code == code.upper() == code_of(thing_id)
    assert not set(code) & set(_LOOK_ALIKES.replace("D", ""))
    assert not set(code) & set("AEIOU")


@given(thing_id=_IDS, length=st.integers(LEAST_TYPED, CODE_LENGTH))
def test_a_code_is_read_in_either_case_and_from_its_beginning(thing_id: str, length: int) -> None:
    code = code_of(thing_id)

    assert is_meant(thing_id, code[:length])
    assert is_meant(thing_id, f" {code[:length].lower()} ")
    assert not is_meant(thing_id, code[: LEAST_TYPED - 1])
    assert not is_meant(thing_id, f"{code}{code}")


@given(text=_HEXADECIMAL)
def test_the_beginning_of_an_id_is_never_a_code(text: str) -> None:
    assert code_typed(text) == ""


@given(thing_id=_IDS, other=_IDS)
def test_a_code_is_never_the_beginning_of_an_id(thing_id: str, other: str) -> None:
    assert not other.startswith(code_of(thing_id).lower())
    assert is_meant(other, code_of(thing_id)) == (code_of(other) == code_of(thing_id))


@given(text=st.text(), thing_id=_IDS)
def test_whatever_is_typed_means_an_id_or_nothing(text: str, thing_id: str) -> None:
    begins = bool(text) and thing_id.startswith(text)
    typed = code_typed(text)

    assert is_meant(thing_id, text) == (
        begins or (typed != "" and code_of(thing_id).startswith(typed))
    )


@given(ids=st.lists(_IDS, unique=True))
def test_among_others_everything_is_shown_by_something_of_its_own(ids: list[str]) -> None:
    shown = codes_of(ids)

    assert list(shown) == ids
    assert len(set(shown.values())) == len(ids)


def test_two_with_one_code_are_shown_by_their_ids() -> None:
    first, second = _with_one_code()

    assert codes_of([first, second, "loop"]) == {first: first, second: second, "loop": "loop"}


def _with_one_code() -> tuple[str, str]:
    """Return two ids that share a code: among some ten thousand there are such."""
    seen: dict[str, str] = {}
    for number in range(100_000):
        made = str(uuid.UUID(int=number << 64 | 7))
        if (other := seen.setdefault(code_of(made), made)) != made:
            return other, made
    raise AssertionError("no two of 100,000 ids have one code")


@pytest.mark.parametrize("name", ["", "loop", "ledger"])
def test_a_short_name_stands_for_itself(name: str) -> None:
    assert code_of(name) == name


def test_nothing_has_no_code() -> None:
    assert code_of(None) == ""
    assert not is_meant("K7QP3M-0000-7000-8000-000000000000", "")


def test_codes_spread_evenly() -> None:
    codes = [code_of(str(uuid.UUID(int=number << 64))) for number in range(20_000)]

    assert len(set(codes)) > 19_950
    assert len({code[0] for code in codes}) == 13
    assert all(len({code[place] for code in codes}) == 20 for place in range(1, CODE_LENGTH))


@pytest.mark.parametrize("text", ["K7Q", "K7QP3MM", "A7QP3M", "K7QPAM", ""])
def test_what_no_code_begins_with_is_none(text: str) -> None:
    assert code_typed(text) == ""
