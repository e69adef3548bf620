"""Where the text to be replaced is found, and what is told where it is not."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from edits.workshop import Workshop, an_edit
from interlock.errors import EditError
from interlock.model.facts import Layer

TWO_FUNCTIONS = (
    "def add(first, second):\n"
    "    total = first + second\n"
    "    return total\n"
    "\n"
    "\n"
    "def subtract(first, second):\n"
    "    total = first - second\n"
    "    return total\n"
)


def edited(shop: Workshop, content: str | bytes, *edits: tuple[str, str]) -> str:
    shop.write("a.py", content)
    planned = shop.plan(*(an_edit("a.py", old, new) for old, new in edits))
    return planned.contents["a.py"].decode()


def complaint(shop: Workshop, content: str, *edits: tuple[str, str]) -> str:
    with pytest.raises(EditError) as caught:
        edited(shop, content, *edits)
    return str(caught.value)


def layer(shop: Workshop, old: str) -> Layer:
    (change,) = shop.plan(an_edit("a.py", old, "x")).plan.files[0].changes
    return change.layer


def test_several_edits_speak_of_the_original(shop: Workshop):
    assert edited(shop, "one two three", ("one", "two"), ("two", "one")) == "two one three"


def test_an_edit_does_not_see_what_another_one_writes(shop: Workshop):
    assert "`old` is not found" in complaint(shop, "one", ("one", "two"), ("two", "three"))


def test_positions_hold_when_texts_grow_and_shrink(shop: Workshop):
    result = edited(shop, "a\nb\nc\nd\n", ("d", ""), ("b", "long\nlonger"), ("a\n", ""))

    assert result == "long\nlonger\nc\n\n"


def test_neighbours_may_touch(shop: Workshop):
    assert edited(shop, "abcd", ("ab", "1"), ("cd", "2")) == "12"


def test_two_edits_that_overlap_are_refused(shop: Workshop):
    told = complaint(shop, "first\nabcd\n", ("abc", "1"), ("cd", "2"))

    assert told == snapshot(
        "`a.py`: edit 1 at 2:1 to 2:4 and edit 2 at 2:3 to 2:5 overlap: make one edit of them"
    )


def test_the_same_edit_twice_overlaps(shop: Workshop):
    assert "overlap" in complaint(shop, "abc", ("b", "x"), ("b", "x"))


def test_a_text_that_stands_twice_is_refused_with_every_place(shop: Workshop):
    told = complaint(shop, TWO_FUNCTIONS, ("return total", "return 0"))

    assert told == snapshot(
        "`a.py`: edit 1: `old` is found 2 times, at 3:5 and 8:5: give more of the text around the"
        " right one, or set `replace_all`"
    )


def test_places_that_overlap_are_several(shop: Workshop):
    assert "found 2 times, at 1:1 and 1:2" in complaint(shop, "aaa", ("aa", "b"))


def test_at_most_ten_places_are_told(shop: Workshop):
    told = complaint(shop, "x\n" * 12, ("x", "y"))

    assert "found 12 times, at 1:1, 2:1," in told
    assert "10:1 and further down" in told
    assert "11:1" not in told


def test_counting_places_has_an_end(shop: Workshop):
    assert "found more than 1,000 times" in complaint(shop, "x" * 5000, ("x", "y"))


def test_all_places_are_replaced_where_all_are_asked_for(shop: Workshop):
    shop.write("a.py", "aaaa b aa")

    planned = shop.plan(an_edit("a.py", "aa", "c", replace_all=True))

    assert planned.contents["a.py"] == b"cc b c"
    assert [change.place for change in planned.plan.files[0].changes] == ["1:1", "1:3", "1:8"]


def test_replacing_everywhere_has_an_end(shop: Workshop):
    shop.write("a.py", "x" * 100_001)

    with pytest.raises(EditError, match="more than 100,000 times, which is too many"):
        shop.plan(an_edit("a.py", "x", "y", replace_all=True))


def test_lines_that_differ_in_blanks_alone_are_found(shop: Workshop):
    result = edited(shop, "if  x:\n\treturn 1 \nelse:\n", ("if x:\n    return  1\n", "pass\n"))

    assert result == "pass\nelse:\n"
    shop.write("a.py", "if  x:\n\treturn 1 \nelse:\n")
    assert layer(shop, "if x:\n    return  1\n") is Layer.WHITESPACE


def test_blanks_that_differ_in_two_places_are_several(shop: Workshop):
    told = complaint(shop, "a  b\nc\na\tb\n", ("a b", "x"))

    assert "found 2 times, at 1:1 and 3:1" in told


def test_all_lines_that_differ_in_blanks_alone_can_be_replaced(shop: Workshop):
    shop.write("a.py", "a  b\na\tb\nc\na   b")

    planned = shop.plan(an_edit("a.py", "a b\n", "x\n", replace_all=True))

    assert planned.contents["a.py"] == b"x\nx\nc\nx"


def test_blanks_alone_are_not_looked_for_in_other_blanks(shop: Workshop):
    assert complaint(shop, "a\n\n\nb\n", ("  \n", "x")) == snapshot(
        "`a.py`: edit 1: `old` is not found: read the file again and give the text exactly as it"
        " stands there"
    )


def test_the_lines_most_alike_are_found(shop: Workshop):
    old = "def subtract(first, second):\n    total = first - seconds\n    return total\n"
    shop.write("a.py", TWO_FUNCTIONS)
    planned = shop.plan(an_edit("a.py", old, "pass\n"))

    (change,) = planned.plan.files[0].changes
    assert change.layer is Layer.FUZZY
    assert change.similarity == snapshot(0.992)
    assert change.place == "6:1"
    assert planned.contents["a.py"].decode() == TWO_FUNCTIONS.partition("def sub")[0] + "pass\n"


def test_what_is_replaced_is_what_was_found_however_long_the_question_was(shop: Workshop):
    content = "start\nthe quick brown fox jumps over the lazy dog\nend\n"

    for old in (
        "the quick brown fox jumps over the lazy old dog",
        "the quick brown fox jumps ver the lazy dg",
    ):
        assert edited(shop, content, (old, "x")) == "start\nx\nend\n"


def test_less_than_nine_tenths_is_not_alike(shop: Workshop):
    told = complaint(shop, "alpha beta gamma\n", ("alpha beta delta\n", "x"))

    assert told == snapshot(
        "`a.py`: edit 1: `old` is not found; nearest at 1:1 (similarity 0.75), needed is 0.90:"
        " read the file again and give the text exactly as it stands there"
    )


def test_exactly_nine_tenths_is_alike(shop: Workshop):
    # One of ten characters differs: two changes among twenty characters.
    assert edited(shop, "abcdefghij\n", ("abcdefghiX\n", "x\n")) == "x\n"


def test_lines_that_are_nothing_like_it_are_not_found(shop: Workshop):
    told = complaint(shop, TWO_FUNCTIONS, ("zebra quagga\nokapi\nwombat\n", "x"))

    assert "nearest" not in told


def test_two_places_that_are_equally_alike_are_refused(shop: Workshop):
    content = "value = compute(one, 1)\nother\nvalue = compute(one, 3)\n"

    assert complaint(shop, content, ("value = compute(one, 2)", "x")) == snapshot(
        "`a.py`: edit 1: `old` is found 2 times equally like it (0.96), at 1:1 and 3:1: give more"
        " of the text around the right one, or set `replace_all`"
    )


def test_likeness_is_never_enough_for_replacing_everywhere(shop: Workshop):
    shop.write("a.py", "the quick brown fox\n")

    with pytest.raises(EditError, match=r"nearest at 1:1 .*, needed is an exact match"):
        shop.plan(an_edit("a.py", "the quick brown fix", "x", replace_all=True))


def test_lines_between_the_first_and_the_last_are_never_swallowed(shop: Workshop):
    content = "begin()\nkeep_this()\nand_this()\nend()\n"

    assert "`old` is not found" in complaint(shop, content, ("begin()\nend()\n", "x\n"))


def test_an_edit_that_was_made_already_is_told(shop: Workshop):
    told = complaint(shop, "a\nfresh bread\n", ("stale", "fresh bread"))

    assert "not found; `new` stands at 2:1 already: read" in told


def test_an_edit_that_changes_nothing_is_refused(shop: Workshop):
    assert complaint(shop, "a\nb\n", ("a", "a")) == snapshot(
        "`a.py`: edit 1: `new` is what stands there already: leave the edit out; line endings"
        " stay as they are in the file"
    )


def test_everything_that_is_wrong_is_told_at_once(shop: Workshop):
    told = complaint(shop, "a\na\n", ("a", "b"), ("zebra", "b")).splitlines()

    assert [line.split(":")[1] for line in told] == [" edit 1", " edit 2"]


def test_what_would_take_too_long_to_compare_is_refused(shop: Workshop):
    long_line = "abcdefgh" * 40_000
    told = complaint(shop, long_line + "x\n", (long_line + "y", "z"))

    assert "too many to look for something like them" in told
    with pytest.raises(EditError, match="`old` is not found: read the file again"):
        shop.plan(an_edit("a.py", long_line + "y", "z", replace_all=True))


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        pytest.param(
            "class A:\n    def f(self):\n        return 1\n",
            "def f(self):\n    return  1\n",
            "def f(self):\n    x = 2\n\n    return x\n",
            "class A:\n    def f(self):\n        x = 2\n\n        return x\n",
            id="further-in",
        ),
        pytest.param(
            "def f(self):\n    return 1\n",
            "    def f(self):\n        return  1\n",
            "    def f(self):\n        return 2\n",
            "def f(self):\n    return 2\n",
            id="further-out",
        ),
        pytest.param(
            "if x:\n\tif y:\n\t\treturn 1\n",
            "if x:\n    if y:\n        return 1\n",
            "if x:\n    if y:\n        if z:\n            return 1\n",
            "if x:\n\tif y:\n\t\tif z:\n\t\t\treturn 1\n",
            id="tabs-in-the-file",
        ),
        pytest.param(
            "if x:\n  if y:\n    return 1\n",
            "if x:\n\tif y:\n\t\treturn 1\n",
            "if x:\n\tif y:\n\t\treturn 2\n",
            "if x:\n  if y:\n    return 2\n",
            id="blanks-in-the-file",
        ),
        pytest.param(
            "    a = 1\n    b = 2\n    c = 3\n",
            "a = 1\n    b =  2\n",
            "a = 9\n    b = 8\n",
            "    a = 9\n    b = 8\n    c = 3\n",
            id="only-the-first-line-was-stripped",
        ),
        pytest.param(
            "    a = 1\n    b =  2\n",
            "a = 1\n    b = 2\n",
            "  a = 9\n",
            "  a = 9\n",
            id="first-line-of-the-new-text-is-another",
        ),
        pytest.param(
            "  a = 1\n b = 2\n",
            "a = 1\n    b = 2\n",
            "c\n    d\n",
            "c\n    d\n",
            id="no-rule-in-it",
        ),
        pytest.param(
            "a = 1\n  b = 2\n",
            "    a = 1\n      b = 2\n",
            "    a = 3\n  b = 4\n",
            "    a = 3\n  b = 4\n",
            id="not-far-enough-in-to-go-out",
        ),
    ],
)
def test_the_new_text_moves_with_the_lines(
    shop: Workshop, content: str, old: str, new: str, expected: str
):
    assert edited(shop, content, (old, new)) == expected
