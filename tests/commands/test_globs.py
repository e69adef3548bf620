"""Sets of globs answer as a plain translation to regular expressions would."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.commands.programs.globs import GlobSet, WordSet, may_fit

_PATHS = st.lists(
    st.sampled_from(["a", "ab", "b", ".env", ".ssh", "x.pem", "é", "a\nb", "?", ""]), max_size=4
).map("/".join)
_GLOBS = st.lists(
    st.sampled_from(["*", "**", "a", "b", "a*", "*.pem", "?", "[ab]", "[", "a?", ".env", "**b"]),
    min_size=1,
    max_size=4,
).map("/".join)
_WORDS = st.text(st.sampled_from("abc-.\n"), max_size=8)
_WORD_GLOBS = st.text(st.sampled_from("abc*?."), min_size=1, max_size=6)


def _path_matches(glob: str, path: str) -> bool:
    """The reference: one expression per glob, built piece by piece."""
    pieces = re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]]*\]|.", glob, re.DOTALL)
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = "".join(
        meanings.get(piece)
        or (f"[{re.escape(piece[1:-1])}]" if len(piece) > 1 else re.escape(piece))
        for piece in pieces
    )
    return re.fullmatch(expression, path, re.DOTALL) is not None


def _word_matches(glob: str, word: str) -> bool:
    expression = "".join({"*": ".*", "?": "."}.get(char) or re.escape(char) for char in glob)
    return re.fullmatch(expression, word, re.DOTALL) is not None


@given(st.lists(_GLOBS, max_size=4), _PATHS)
def test_a_set_matches_a_path_when_one_of_its_globs_does(globs: list[str], path: str):
    expected = any(_path_matches(glob, path) for glob in globs)

    assert GlobSet(globs).matches(path) == expected


@given(st.lists(_WORD_GLOBS, max_size=4), _WORDS)
def test_a_set_matches_a_word_when_one_of_its_globs_does(globs: list[str], word: str):
    expected = any(_word_matches(glob, word) for glob in globs)

    assert WordSet(globs).matches(word) == expected


@pytest.mark.parametrize(
    ("glob", "matching", "other"),
    [
        ("/etc", "/etc", "/etc/x"),
        ("**/.env", "a/b/.env", "a/.env/b"),
        ("**/*.pem", "a/x.pem", "a/x.pem/y"),
        ("**/id_*", "a/id_rsa", "a/b"),
        ("/etc/**", "/etc/a/b", "/etcetera"),
        ("~/.ssh/*", "~/.ssh/id", "~/.ssh/a/b"),
        ("/dev/sd?", "/dev/sda", "/dev/sd/"),
        ("**/.env[?]", "a/.env?", "a/.envx"),
        ("a[", "a[", "a"),
        ("/etc/**.conf", "/etc/k/a.conf", "/etc/k/a.txt"),
        ("**/a/b", "x/a/b", "x/a/c"),
    ],
)
def test_a_glob_stays_within_a_folder_unless_it_is_double(glob: str, matching: str, other: str):
    paths = GlobSet([glob])

    assert paths.matches(matching)
    assert not paths.matches(other)


@pytest.mark.parametrize(
    ("glob", "matching", "other"),
    [
        ("push", "push", "pushed"),
        ("push*", "pushed", "apush"),
        ("*push", "apush", "pushed"),
        ("*push*", "apushed", "pull"),
        ("a*b", "axxb", "ab-"),
        ("a*b*c", "a-b-c", "a-c"),
        ("ab*ba", "abba", "aba"),
        ("a?c", "abc", "ac"),
        ("*", "", None),
    ],
)
def test_a_star_in_a_word_is_anything(glob: str, matching: str, other: str | None):
    words = WordSet([glob])

    assert words.matches(matching)
    assert other is None or not words.matches(other)


def test_an_empty_set_matches_nothing():
    assert not GlobSet([]).matches("")
    assert not WordSet([]).matches("")


@pytest.mark.parametrize(
    ("pattern", "may"),
    [
        pytest.param("r[mn]", True, id="class"),
        pytest.param("r?", True, id="any-letter"),
        pytest.param("r[no]", False, id="other-class"),
        pytest.param("[" * 33, True, id="more-than-anybody-reads"),
    ],
)
def test_what_is_too_long_to_be_read_may_stand_for_any_name(pattern: str, may: bool):
    assert may_fit("rm", pattern) is may
