"""Words without their quotes: backslashes, `$'...'`, braces."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.commands.shell.words import (
    Word,
    brace_expanded,
    decode_ansi_c,
    unescape,
    unescape_double_quoted,
)

Quoter = Callable[[str], str]
_QUOTERS: tuple[Quoter, ...] = (unescape, unescape_double_quoted, decode_ansi_c)
_MANY = 1024
_SHELLISH = st.text(st.sampled_from("\\'\"$`{},.01xuUcab \n\t\ud800é"), max_size=40)


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("rm", "rm"),
        (r"r\m", "rm"),
        (r"a\ b", "a b"),
        ("r\\\nm", "rm"),
        ("\\\\", "\\"),
        ("end\\", "end\\"),
    ],
)
def test_an_unquoted_word_loses_its_backslashes(raw: str, plain: str):
    assert unescape(raw) == plain


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("plain", "plain"),
        (r"\$HOME", "$HOME"),
        (r"\"\`\\", '"`\\'),
        (r"\n stays", r"\n stays"),
        ("a\\\nb", "ab"),
        ("end\\", "end\\"),
    ],
)
def test_double_quotes_keep_the_backslashes_that_escape_nothing(raw: str, plain: str):
    assert unescape_double_quoted(raw) == plain


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("plain", "plain"),
        (r"\x72m", "rm"),
        (r"\x7", "\x07"),
        (r"\162m", "rm"),
        (r"\u0072m", "rm"),
        (r"\U00000072m", "rm"),
        (r"\Uffffffff", "\N{REPLACEMENT CHARACTER}"),
        (r"a\tb\n", "a\tb\n"),
        (r"\e[0m\E", "\x1b[0m\x1b"),
        (r"\'\"\?\\", "'\"?\\"),
        (r"\cA\c?", "\x01\x1f"),
        ("\\c", "\\c"),
        (r"\q", r"\q"),
        (r"\xg", "xg"),
        ("end\\", "end\\"),
    ],
)
def test_ansi_c_quotes_are_decoded(raw: str, plain: str):
    assert decode_ansi_c(raw) == plain


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a", ["a"]),
        ("{a,b}", ["a", "b"]),
        ("x{a,}y", ["xay", "xy"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("{1..3}", ["1", "2", "3"]),
        ("{a..c}", ["a", "c"]),
        ("{a..3}", ["{a..3}"]),
        ("{a}", ["{a}"]),
        ("{}", ["{}"]),
        ("}{a,b}", ["}a", "}b"]),
        ("${a,b}", ["${a,b}"]),
        ("{x}{a,b}", ["{x}a", "{x}b"]),
    ],
)
def test_braces_make_words(text: str, words: list[str]):
    assert brace_expanded(text) == words


@pytest.mark.parametrize(
    "text",
    ["{a,b}" * 200, "{1..999999999999}", "{0..99999}", "{" * 500 + "}" * 500, "{a,b}" * 600],
    ids=["many groups", "huge numbers", "long range", "deep", "too long to read"],
)
def test_braces_never_make_many_words(text: str):
    assert len(brace_expanded(text)) <= _MANY


def test_a_word_that_is_too_long_to_expand_stays_as_it_is():
    text = "{a,b}" * 600

    assert brace_expanded(text) == [text]


def test_the_tail_of_a_word_knows_as_much_as_the_word():
    word = Word("of=$X", known=False, glob=True, labels=3)

    assert word.tail(3) == Word("$X", known=False, glob=True, labels=3)


@given(_SHELLISH)
def test_taking_quotes_off_never_fails_and_never_grows(text: str):
    for plain in (quoter(text) for quoter in _QUOTERS):
        assert len(plain) <= len(text)


@given(st.text(st.characters(exclude_characters="\\"), max_size=40))
def test_a_word_without_backslashes_stays_as_it_is(text: str):
    assert {quoter(text) for quoter in _QUOTERS} == {text}


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_word_escaped_by_hand_comes_back(before: str, after: str):
    escaped = "".join(f"\\{char}" for char in before if char != "\n")

    assert unescape(escaped) == before.replace("\n", "")
    assert unescape(escaped + after.replace("\\", "")) == before.replace("\n", "") + after.replace(
        "\\", ""
    )


@given(_SHELLISH)
def test_expanding_braces_is_bounded_and_keeps_what_is_outside(text: str):
    words = brace_expanded(text)

    assert 1 <= len(words) <= _MANY
    assert all(len(word) <= len(text) + 12 for word in words)


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=3), min_size=1, max_size=2))
def test_braces_make_the_product_of_their_choices(groups: list[list[str]]):
    text = "".join("{" + ",".join(choices) + "}" for choices in groups)

    assert brace_expanded(text) == ["".join(parts) for parts in itertools.product(*groups)]


@pytest.mark.large
@pytest.mark.parametrize("quoter", _QUOTERS, ids=["unquoted", "double", "ansi-c"])
@pytest.mark.parametrize("unit", ["\\", "\\x", "\\\n", "\\\\", "a"], ids=repr)
def test_a_long_text_is_read_in_linear_time(quoter: Quoter, unit: str):
    text = unit * (200_000 // len(unit))

    started = time.process_time()
    quoter(text)

    assert time.process_time() - started < 5
