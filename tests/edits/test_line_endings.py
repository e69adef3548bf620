"""Line endings, the end of the file and its encoding stay as they are."""

from __future__ import annotations

import pytest

from edits.workshop import Workshop, an_edit
from interlock.edits import file_text
from interlock.edits.file_text import FileText
from interlock.errors import EditError
from interlock.model.edit import Encoding


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        pytest.param(b"a\r\nb\r\nc", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc", id="crlf"),
        pytest.param(b"a\rb\rc", "a\nb", "x\ny", b"x\ry\rc", id="cr"),
        pytest.param(b"a\nb\n", "a\r\nb\r\n", "x\r\ny\r\n", b"x\ny\n", id="asked-with-crlf"),
        pytest.param(b"a\r\nb\nc\r\n", "a\nb\nc\n", "a\nX\nc\n", b"a\r\nX\nc\r\n", id="mixed"),
        pytest.param(
            b"a\r\nb\nc\r\n", "a\nb\nc\n", "a\nX\nb\nc\n", b"a\r\nX\r\nb\nc\r\n", id="inserted"
        ),
        pytest.param(b"a\nb\r\n", "b", "x\ny", b"a\nx\r\ny\r\n", id="of-its-own-line"),
        pytest.param(b"a\r\nb", "b", "x\ny", b"a\r\nx\r\ny", id="of-the-line-before"),
        pytest.param(b"b", "b", "x\r\ny", b"x\ny", id="of-nothing"),
        pytest.param(b"a\r\nb\n", "a\nb\n", "q\nw\ne\n", b"q\r\nw\ne\n", id="more-lines"),
        pytest.param(b"a\nb\n", "a", "x\ry", b"x\ry\nb\n", id="a-lone-cr-is-meant"),
        pytest.param(b"a\r\nb\r\n", "\nb", "", b"a\r\n", id="half-of-a-pair-is-never-left"),
        pytest.param(b"a\nlast", "last\n", "end\n", b"a\nend", id="no-final-ending"),
        pytest.param(b"a\r\nlast", "last\r\n", "end\r\n", b"a\r\nend", id="no-final-crlf"),
        pytest.param(b"a\x0bb\x0cc\x85d\n", "b\x0cc", "x\x0cy", b"a\x0bx\x0cy\x85d\n", id="others"),
    ],
)
def test_the_endings_of_the_place_are_taken(
    shop: Workshop, content: bytes, old: str, new: str, expected: bytes
):
    if b"\x85" in content:
        content, expected = (each.decode("latin-1").encode() for each in (content, expected))
    shop.write("a.txt", content)

    assert shop.plan(an_edit("a.txt", old, new)).contents["a.txt"] == expected


@pytest.mark.parametrize(
    ("mark", "codec", "encoding"),
    [
        (b"", "utf-8", Encoding.UTF_8),
        (b"\xef\xbb\xbf", "utf-8", Encoding.UTF_8_BOM),
        (b"\xff\xfe", "utf-16-le", Encoding.UTF_16_LE),
        (b"\xfe\xff", "utf-16-be", Encoding.UTF_16_BE),
    ],
)
def test_the_encoding_stays(shop: Workshop, mark: bytes, codec: str, encoding: Encoding):
    shop.write("a.txt", mark + "grün\r\n𝛑 = 3\r\n".encode(codec))

    planned = shop.plan(an_edit("a.txt", "𝛑 = 3", "π\n≈ 3"))

    assert planned.contents["a.txt"] == mark + "grün\r\nπ\r\n≈ 3\r\n".encode(codec)
    assert planned.plan.files[0].encoding is encoding
    assert planned.plan.files[0].changes[0].place == "2:1"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\x7fELF\0\0", "binary file: there is a NUL at character 4"),
        (b"abc\xe9\n", "not utf-8 at byte 3"),
        (b"\xef\xbb\xbfabc\xe9\n", "not utf-8-bom at byte 6"),
        (b"\xff\xfea", "not utf-16-le at byte 2"),
        ("text".encode("utf-32"), "binary file: there is a NUL at character 0"),
    ],
)
def test_what_is_no_text_is_refused(shop: Workshop, content: bytes, told: str):
    shop.write("a.bin", content)

    with pytest.raises(EditError, match=r"^`a\.bin`: edit 1: is ") as caught:
        shop.plan(an_edit("a.bin", "a", "b"))

    assert told in str(caught.value)


def test_half_a_character_is_refused(shop: Workshop):
    shop.write("a.txt", "a")

    with pytest.raises(EditError, match=r"`new` has half a character, `\\ud800`"):
        shop.plan(an_edit("a.txt", "a", "b\ud800"))


@pytest.mark.parametrize(
    "text", ["a\r\n\r\nbc\r\rd\n\r\n\ne\r\n", "ab\r\nc\r\n\r\n", "ab\nc\n\n", "a\r\rb"]
)
def test_every_place_leads_back_across_blocks(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setattr(file_text, "_BLOCK", 3)
    text *= 4
    expected = [
        position for position in range(len(text) + 1) if text[position - 1 : position + 1] != "\r\n"
    ]

    found = FileText(text, Encoding.UTF_8)

    places = range(len(found.plain) + 1)
    assert [found.origin(position) for position in places] == expected
    assert [found.line_at(position) for position in places] == [
        found.plain[:position].count("\n") for position in places
    ]
