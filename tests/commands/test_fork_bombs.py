"""Fork bombs are known by their shape, and nothing else is called one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.lines import effects_in
from interlock.commands.shell.fork_bombs import endless_forks
from interlock.commands.shell.syntax import parse

_LINES = st.lists(
    st.sampled_from(
        "f() { } while true; until false do done for ((;;)) f g : wait break ( ) ; | && || > >& "
        "&> x\n if then fi function".split(" ")
    ),
    max_size=14,
).map(" ".join)


@pytest.mark.parametrize(
    "line",
    [
        ":(){ :|:& };:",
        "f() { f | f & }; f",
        "f() { f & f; }; f",
        "function f { f | f & }; f",
        "f() { (f &); }; f",
        "f() { if true; then f & fi; }; f",
        "f() { g & }; g() { f; }; f",
        "f() { g; g; }; g() { h & }; h() { f; }; f",
        "f() { f > log & }; f",
        "while true; do x & done",
        "while :; do x & done",
        "while [ 1 ]; do x & done",
        "while ((1)); do x & done",
        "until false; do x & done",
        "for ((;;)); do x & done",
        "for ((i=0;;i++)); do x & done",
        "while true; do (x &); done",
        "while true; do { x & }; done",
        "while true; do wait; x & done",
        "if true; then while true; do x & done; fi",
        "f() { f | f; }; f",
    ],
)
def test_starts_processes_without_end(line: str):
    assert endless_forks(parse(line)) != ""
    assert any(effect.startswith("fork ") for effect in effects_in(line))


@pytest.mark.parametrize(
    "line",
    [
        "f() { f; }; f &",
        "f() { g & }; g() { x; }; f",
        "f() { x & }; f",
        "f() { f; g & }; g() { x; }; f",
        "f() { f && x; }; f 2>&1",
        "while true; do x; done &",
        "while true; do x & wait; done",
        "while true; do x & break; done",
        "while read l; do x & done",
        "until true; do x & done",
        "for ((i=0;i<3;i++)); do x & done",
        "for f in a b; do x & done",
        "while true; do (x); { y; }; done &",
        "while true; do x && y; done > log 2>&1",
        "sleep 1 & wait",
        "echo '&' 'while true'",
    ],
)
def test_ends_or_waits(line: str):
    assert endless_forks(parse(line)) == ""


@given(_LINES)
def test_a_line_that_forks_nowhere_is_no_bomb(line: str):
    alone = line.replace("&&", "").replace(">&", "").replace("&>", "")
    forks = "&" in alone or "|" in alone.replace("||", "")

    assert forks or endless_forks(parse(line)) == ""


@given(_LINES)
def test_any_line_gets_the_same_answer_twice(line: str):
    assert endless_forks(parse(line)) == endless_forks(parse(line))
