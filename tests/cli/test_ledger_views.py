"""What every table, amount and short id promises, whatever is shown."""

from __future__ import annotations

import os
import pty
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.asking import interlock, program
from cli.ledgers import Story
from effort import examples
from interlock import Interlock, load_policy
from interlock.cli.text.render import Span, escape
from interlock.cli.text.tables import Column, cut, table_lines
from interlock.model.budget import Dimension
from interlock.views import units
from warm_python import PythonProcess

_COLUMNS = [
    Column("first"),
    Column("second", right=True, spared=1),
    Column("third", stretches=True),
    Column("fourth", spared=2),
]
_cells = st.text(max_size=30).map(Span)
_rows = st.lists(st.tuples(st.text(max_size=12).map(Span), _cells, _cells, _cells), max_size=3)


@examples(15, soak=500)
@given(rows=_rows, room=st.integers(20, 200))
def test_a_table_is_never_wider_than_the_window(rows: list[tuple[Span, ...]], room: int) -> None:
    lines = list(table_lines(_COLUMNS, rows, width=room))

    widths = {sum(len(span.text) for span in line) for line in lines}
    # The first column is never given up, and the third keeps eight characters beside it.
    first = max([len("first"), *[len(escape(row[0].text)) for row in rows]])
    assert len(lines) == len(rows) + 1
    assert len(widths) == 1
    assert max(widths) <= max(room, first + 2 + 8)


@given(text=st.text(), width=st.integers(3, 40))
def test_what_is_cut_fits_and_says_so(text: str, width: int) -> None:
    shown, whole = cut(text, width), escape(text)

    assert len(shown) <= width
    assert shown == whole or (shown.endswith("...") and whole.startswith(shown[:-3]))


@given(micros=st.integers(0, 10**12))
def test_dollars_for_programs_lose_nothing(micros: int) -> None:
    text = str(units.amount_value(Dimension.COST, micros))

    assert round(float(text) * 1_000_000) == micros


@pytest.mark.parametrize(
    ("microseconds", "told"),
    [
        (-5, "0 s"),
        (59_999_999, "59 s"),
        (60_000_000, "1 min"),
        (3_600_000_000, "1 h"),
        (90_000_000_000, "1 d"),
    ],
)
def test_a_span_is_told_in_its_largest_unit(microseconds: int, told: str) -> None:
    assert units.span(microseconds) == told


@pytest.mark.parametrize(
    ("micros", "told"),
    [
        (0, "$0.00"),
        (450_000, "$0.45"),
        (1_234, "$0.0012"),
        (7, "$0.000007"),
        (12_345_678, "$12.35"),
    ],
)
def test_small_money_keeps_its_digits(micros: int, told: str) -> None:
    assert units.dollars(micros) == told


def test_a_terminal_gets_colours_and_the_same_words(story: Story) -> None:
    plain = interlock("show", story.checkout).stdout
    coloured = _on_a_terminal("show", story.checkout)

    words = re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace("\r\n", "\n")
    assert "\x1b[31mdeny" in coloured
    assert words == plain


def test_the_policys_limits_are_held_against_what_was_used(place: str, tmp_path: Path) -> None:
    policy = tmp_path / "limits.toml"
    policy.write_text("[budgets.run]\ntool-calls = 4\n[budgets.agent]\ntokens = 1000\n")
    gates = load_policy(user=policy, project=None)
    with Interlock.open(place, policy=gates) as agent:
        run = agent.run("work", agent="claude")
        answer = run.command("ls")
        held = interlock("show", run.id, "--all").stdout
        run.observe(answer, exit_code=0)
        used = interlock("show", run.id, "--all").stdout

    assert "                tool-calls     ▒▒▒▒▒░░░░░░░░░░░░░░░   25 %  0 of 4, 1 held\n" in held
    assert "                tool-calls     █████░░░░░░░░░░░░░░░   25 %  1 of 4\n" in used
    assert "  agent claude  tokens         ░░░░░░░░░░░░░░░░░░░░    0 %  0 of 1,000\n" in used


def _on_a_terminal(*arguments: str) -> str:
    """Return what a program prints on a terminal."""
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    ours, theirs = pty.openpty()
    with PythonProcess[bytes](
        program(arguments), stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ):
        os.close(theirs)
        seen = b""
        while piece := _read(ours):
            seen += piece
    os.close(ours)
    return seen.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side has gone
        return b""
