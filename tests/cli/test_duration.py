from __future__ import annotations

import click
import pytest

from interlock.cli.call.duration import Duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("15min", 900), ("1h", 3600), ("1.5h", 5400),
     ("1h30m", 5400), ("30d", 2_592_000), ("2w", 1_209_600), (" 1H ", 3600)],
)  # fmt: skip
def test_a_span_of_time_is_read_as_people_write_it(text: str, seconds: int) -> None:
    assert Duration().convert(text, None, None) == seconds


def test_a_plain_number_is_of_the_unit_that_is_usual_there() -> None:
    assert Duration("d").convert("30", None, None) == 30 * 86_400
    assert Duration().convert(30, None, None) == 30


@pytest.mark.parametrize("text", ["", "soon", "-1", "1y", "1h-", "h", "1 h 2"])
def test_what_is_no_span_of_time_is_told_with_what_is(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected such as `90s`, `15m`, `1h` or `30d`"):
        Duration().convert(text, None, None)


@pytest.mark.parametrize("text", ["0", "2h", "9999999w"])
def test_what_is_too_short_or_too_long_is_told_with_the_limits(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"seconds: expected 1 to 3,600"):
        Duration(least=1, most=3600).convert(text, None, None)
