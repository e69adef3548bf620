"""What a public entrance takes, what it refuses, and how it says so."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypedDict, Union, Unpack

import msgspec
import pytest

from interlock.errors import InputError
from interlock.model.entrance import (
    MOST,
    Amount,
    Argument,
    Count,
    FilePath,
    Given,
    Share,
    checked,
    entrance,
)

# As an annotation makes it: `Annotated` itself has no operator.
MaybeCount = Union[Count, None]  # noqa: UP007 - a value, not an annotation


class Colour(enum.Enum):
    RED = "red"
    LIGHT_BLUE = "light-blue"


class Point(msgspec.Struct, frozen=True, kw_only=True, metaclass=Argument):
    x: Count
    y: Count = 0
    tags: tuple[str, ...] = ()


class OddPath:
    def __fspath__(self) -> Any:
        return b"raw"


class Word(str):
    __slots__ = ()


class Fields(TypedDict, total=False):
    colour: Colour | str
    point: Given[Point]


class Painter:
    @entrance
    def paint(self, what: str, times: Count = 1, *, at: Count, **fields: Unpack[Fields]) -> Any:
        return what, times, at, fields


TAKEN: list[tuple[object, Any, object]] = [
    (str, "a", "a"),
    (str, Word("a"), "a"),
    (str, Path("a/b"), "a/b"),
    (str | None, Path("a"), "a"),
    (bool, False, False),
    (int, -3, -3),
    (Count, 0, 0),
    (Count, MOST, MOST),
    (float, 1, 1),
    (Amount, 0.5, 0.5),
    (Share, 1, 1),
    (Annotated[float, msgspec.Meta(gt=0)], 1e300, 1e300),
    (int | None, None, None),
    (Decimal | str | MaybeCount, Decimal("0.1"), Decimal("0.1")),
    (Colour, Colour.RED, Colour.RED),
    (Colour | str, "red", Colour.RED),
    (Colour | None, " Light-Blue ", Colour.LIGHT_BLUE),
    (Point, {"x": 1, "tags": ["a"]}, Point(x=1, tags=("a",))),
    (Given[Point] | None, {"x": 1}, Point(x=1)),
    (Point | str, Point(x=1), Point(x=1)),
    (Sequence[Given[Point]], [{"x": 1}, Point(x=2)], (Point(x=1), Point(x=2))),
    (Iterable[int], iter([1, 2]), (1, 2)),
    (tuple[str, ...], ("a",), ("a",)),
    (Mapping[str, Count], {"a": 1}, {"a": 1}),
    (Mapping[str, object] | str, {"a": object}, {"a": object}),
    (FilePath, "a/b", "a/b"),
    (FilePath | None, Path("a"), Path("a")),
    (FilePath | Sequence[FilePath], ["a"], ("a",)),
    (Callable[[int], int], abs, abs),
    (object, None, None),
    (Painter, Painter, None),
]


@pytest.mark.parametrize(("kind", "value", "taken"), TAKEN)
def test_takes_what_is_of_the_kind_or_can_be_made_into_it(
    kind: object, value: object, taken: object
) -> None:
    if value is Painter:
        value = taken = Painter()

    assert checked(value, kind, "it") == taken


REFUSED: list[tuple[object, Any, str]] = [
    (str, 1, "`it` is of the type `int`, expected a text"),
    (str, None, "`it` is `None`, expected a text"),
    (str, b"raw", "`it` is of the type `bytes`, expected a text"),
    (str, str, "`it` is of the type `type`, expected a text"),
    (bool, 1, "`it` is `1`, expected `True` or `False`"),
    (int, True, "`it` is `True`, expected a whole number"),
    (int, 1.0, "`it` is `1.0`, expected a whole number"),
    (int, 2**70, f"expected a whole number from -{MOST} to {MOST}"),
    (int, 10**100, "`it` is a number too long"),
    (Count, -1, f"`it` is `-1`, expected a whole number from 0 to {MOST}"),
    (float, math.nan, "`it` is `nan`, expected a number"),
    (float, True, "`it` is `True`, expected a number"),
    (Amount, math.inf, "`it` is `inf`, expected a number from 0"),
    (Share, 1.01, "`it` is `1.01`, expected a number from 0 to 1"),
    (Annotated[float, msgspec.Meta(gt=0, le=9)], 0, "expected a number above 0 to 9"),
    (MaybeCount, "3", "`it` is the text `3`, expected a whole number"),
    (MaybeCount, "three", "`it` is `three`, expected a whole number"),
    (MaybeCount, True, "`it` is `True`, expected a whole number"),
    (type(None), 0, "`it` is `0`, expected `None`"),
    (Decimal, Decimal("NaN"), "`it` is `NaN`, expected a finite `Decimal`"),
    (
        Decimal | str | Count,
        0.5,
        "`it` is of the type `float`, expected a finite `Decimal`",
    ),
    (Colour | str, "green", "`it` is `green`, expected one of `red`, `light-blue`"),
    (Colour, 3, "`it` is `3`, expected one of"),
    (Colour, "sk-" + "a1" * 20, "`it` is a text of 43 characters, expected one of"),
    (Point, 1, "`it` is `1`, expected a `Point` or a table of its values"),
    (Point, {"x": -1}, "`it.x` is `-1`"),
    (Point, {}, "`it.x` is missing, expected a whole number"),
    (Point, {"x": 1, "tag": ()}, "`it` takes no `tag`: did you mean `tags`?"),
    (Point, {"x": 1, 5: ()}, "`it` takes no `5`: expected `tags`, `x`, `y`"),
    (Point, msgspec.structs.replace(Point(x=1), x=1.5), "`it.x` is `1.5`"),
    (Sequence[str], "text", "`it` is of the type `str`, expected a list of which each is a text"),
    (Sequence[str], {"a": 1}, "`it` is of the type `dict`, expected a list"),
    (Sequence[str], iter("a"), "expected a list"),
    (Sequence[str], ["a", 1], "`it[1]` is of the type `int`, expected a text"),
    (Mapping[str, int], [], "expected a table whose values are each a whole number"),
    (Mapping[str, int], {1: 1}, "`it: a name` is of the type `int`, expected a text"),
    (Mapping[str, int], {"a": "b"}, "`it.a` is `b`, expected a whole number"),
    (FilePath, "a\0b", "`it` is a text of 3 characters, expected a path"),
    (FilePath, "", "`it` is a text of 0 characters, expected a path"),
    (FilePath, "\ud800", "`it` is a text of 1 character, expected a path"),
    (FilePath | None, 5, "`it` is `5`, expected a path"),
    (FilePath, b"raw", "expected a path"),
    (str, OddPath(), "expected a text"),
    (FilePath, OddPath(), "expected a path"),
    (Callable[[int], int], 5, "`it` is `5`, expected something that can be called"),
    (Painter, 5, "`it` is `5`, expected a `Painter`"),
    (Painter, Painter, "`it` is the class `Painter`, expected a `Painter`"),
    (type[int], 5, "`it` is `5`, expected a `type`"),
]


@pytest.mark.parametrize(("kind", "value", "told"), REFUSED)
def test_refuses_anything_else_and_says_what_is_right(
    kind: object, value: object, told: str
) -> None:
    with pytest.raises(InputError) as refused:
        checked(value, kind, "it")

    assert told in str(refused.value)


def test_a_number_that_python_does_not_write_is_refused_all_the_same() -> None:
    with pytest.raises(InputError, match="`it` is a number too long"):
        checked(10**5000, int, "it")


def test_a_value_that_was_put_together_past_its_checks_is_put_right() -> None:
    odd = msgspec.structs.replace(Point(x=1), tags=["a"])

    assert checked(odd, Point, "it") == Point(x=1, tags=("a",))


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((), {"at": 1}, "`paint` needs `what`: it is missing"),
        (("a",), {}, "`paint` needs `at`: it is missing"),
        (("a", 1, 2), {"at": 1}, "`paint` got 4 values by their place, it takes 3: name what"),
        (("a",), {"at": 1, "what": "b"}, "`paint` got a value by its place and by its name"),
        (("a", "b"), {"at": 1}, "`times` is `b`, expected a whole number"),
        (("a",), {"att": 1}, "`paint` takes no `att`: did you mean `at`?"),
        (("a",), {"zzzzzz": 1}, "`paint` takes no `zzzzzz`: expected `at`, `colour`, `point`"),
        (("a",), {"\ud800" * 99: 1}, "`paint` takes no `\\ud800"),
        (("a",), {"at": 1, "colour": "green"}, "`colour` is `green`"),
        (("a",), {"at": 1, "point": {"x": None}}, "`point.x` is `None`"),
    ],
)
def test_a_call_is_refused_by_what_is_wrong_with_it(
    args: tuple[Any, ...], kwargs: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError) as refused:
        Painter().paint(*args, **kwargs)

    assert told in str(refused.value)


def test_a_call_gets_its_arguments_as_they_are_meant() -> None:
    painted = Painter().paint("door", at=2, colour="RED", point={"x": 1})

    assert painted == ("door", 1, 2, {"colour": Colour.RED, "point": Point(x=1)})
    assert Painter().paint("door", 3, at=2) == ("door", 3, 2, {})
    assert Painter.paint.__doc__ is None


def test_a_value_is_checked_when_it_is_made_and_not_when_it_is_read() -> None:
    made: Any = Point
    with pytest.raises(InputError, match="`Point` takes its values by their names"):
        made(1)
    with pytest.raises(InputError, match="`Point` takes no `z`"):
        made(x=1, z=2)

    assert msgspec.json.decode(b'{"x":1}', type=Point) == Point(x=1)


def test_a_word_that_was_misspelt_is_told_with_what_was_likely_meant() -> None:
    with pytest.raises(InputError, match="expected one of `red`, `light-blue`; did you mean `red`"):
        checked("redd", Colour, "colour")


@pytest.mark.parametrize("text", ["pytest -q", "x"])
def test_a_text_where_a_list_belongs_is_told_to_stand_in_one(text: str) -> None:
    with pytest.raises(InputError, match="also one alone stands in a list"):
        checked(text, tuple[str, ...], "argv")


def test_bytes_are_neither_a_text_nor_a_list() -> None:
    with pytest.raises(InputError, match="`line` is of the type `bytes`, expected a text or a li"):
        checked(b"ls", str | Sequence[str], "line")


class Answered:
    pass


def test_what_is_expected_has_its_article() -> None:
    with pytest.raises(InputError, match="expected an `Answered`"):
        checked(3, Answered, "it")
    with pytest.raises(InputError, match="expected a `Point` or a table"):
        checked(3, Point, "it")


class Later:
    @entrance
    async def ask(self, what: str) -> str:
        return f"{what}?"


def test_an_answer_that_nobody_awaited_is_neither_true_nor_false() -> None:
    asked: Any = Later().ask("now")

    with pytest.raises(TypeError, match=r"there is no answer yet: await it, as in .*ask\("):
        bool(asked)
    with pytest.raises(AttributeError, match="await it"):
        _ = asked.allowed
    assert asked.__name__ == "ask"
    asked.close()
    with pytest.raises(InputError, match="`what` is of the type `int`"):
        Later().ask(3)  # pyright: ignore[reportArgumentType, reportUnusedCoroutine] - refused at once


def test_an_answer_may_be_awaited_or_driven_by_a_loop() -> None:
    async def awaits() -> str:
        return await Later().ask("now")

    driven = Later().ask("then")
    with pytest.raises(StopIteration) as told:
        driven.send(None)
    with pytest.raises(StopIteration) as awaited:
        awaits().send(None)

    assert (told.value.value, awaited.value.value) == ("then?", "now?")
    with pytest.raises(ValueError, match="given up"):
        Later().ask("never").throw(ValueError("given up"))
