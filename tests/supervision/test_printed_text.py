"""What a command said, from what it printed."""

from __future__ import annotations

import pytest

from interlock.adapters.supervision.printed_text import said_in


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (b"", None),
        (b"\n \r\n", None),
        (b"I read the file.\n", "I read the file."),
        (b"one\r\ntwo\r\n", "one\ntwo"),
        (b"\x1b[1;32mdone\x1b[0m\x1b[K\x07\n", "done"),
        (b"\x1b]0;a title\x07text", "text"),
        (b"kept\nDownloading 10 %\rDownloading 20 %\n", "kept"),
        (b"\x1b[2J\x1b[Ha screen", None),
        (b"\x1b[3A up again", None),
        (b"\xff\xfe bytes", "\N{REPLACEMENT CHARACTER}" * 2 + " bytes"),
    ],
)
def test_what_is_drawn_is_not_said(printed: bytes, said: str | None) -> None:
    assert said_in(printed) == said


def test_lines_over_and_over_are_the_same_wherever_they_are_cut() -> None:
    cycle = [b"look at it", b"try it", b"give up"]
    lines = b"\n".join(cycle * 20)

    assert {said_in(lines[cut:-cut]) for cut in range(1, 60)} == {"give up\nlook at it\ntry it"}


def test_code_with_lines_that_repeat_is_kept_in_its_order() -> None:
    assert said_in(b"f() {\n}\ng() {\n}\n") == "f() {\n}\ng() {\n}"


def test_of_a_long_text_both_ends_are_compared() -> None:
    said = said_in(b"begin " + b"x" * 500 + b" end")

    assert said is not None
    assert len(said) <= 160
    assert said.startswith("begin ")
    assert said.endswith(" end")
