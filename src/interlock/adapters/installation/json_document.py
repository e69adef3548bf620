"""A JSON file of somebody else: changed in one place, and every other byte of it stays.

Comments and trailing commas are read as well: some clients allow them. What is added is written
the way the file is written, and taken away again it leaves what was there before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, NamedTuple, NoReturn, cast

from interlock.errors import InputError

_TRIVIA: Final = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_REST_OF_LINE: Final = re.compile(r"(?:[ \t]*/\*(?:(?!\*/)[^\r\n])*\*/)*(?:[ \t]*(//[^\r\n]*))?")
_SCALAR: Final = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
    r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
    r"|true|false|null"
)
_TEXT_OR_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|' + _COMMENT.pattern, re.DOTALL)
_NEWLINE: Final = re.compile(r"\r\n|\n|\r")
_BLANK: Final = " \t\r\n"
_BYTE_ORDER_MARK: Final = "\ufeff"
_CLOSES: Final = {"{": "}", "[": "]"}
_DEEPEST: Final = 200
_UNIT: Final = "  "


class Node(NamedTuple):
    """A value, and where it stands in the text."""

    start: int
    end: int
    opens: str
    """`{` or `[`; empty where it holds nothing else."""
    items: tuple[Item, ...] = ()

    def member(self, key: str) -> Item | None:
        """Return a member by its name: the last of that name, as clients read it."""
        return next((each for each in reversed(self.items) if each.key == key), None)


class Item(NamedTuple):
    """A member of an object, or an element of an array."""

    start: int
    key: str | None
    value: Node
    comma: int | None
    """Where the comma behind it stands, if one does."""


class JsonDocument:
    """A text that was read; changes give another text."""

    def __init__(self, text: str, place: str) -> None:
        """Read a text; InputError with the line and the column where it is no JSON."""
        self.text = text
        self._place = place
        self.root = self._whole()

    def value(self, node: Node) -> object:
        """Return what a node means."""
        if node.opens == "{":
            return {each.key: self.value(each.value) for each in node.items}
        if node.opens == "[":
            return [self.value(each.value) for each in node.items]
        return cast("object", json.loads(self.text[node.start : node.end]))

    def inner(self, box: Node) -> str:
        """Return what stands between the brackets."""
        return self.text[box.start + 1 : box.end - 1]

    def fail(self, problem: str, at: int) -> NoReturn:
        """Raise InputError about a place of the text."""
        before = _NEWLINE.split(self.text[:at])
        raise InputError(
            f"`{self._place}`:{len(before)}:{len(before[-1]) + 1}: {problem}; nothing was changed:"
            " mend the file, then try again"
        )

    def check_is_read(self, reader: str, *, comments: bool, mark: bool) -> None:
        """Raise InputError where a program would not read this, that takes no more than it says."""
        text = self.text
        if mark and text.startswith(_BYTE_ORDER_MARK):
            text = " " + text.removeprefix(_BYTE_ORDER_MARK)
        if comments:
            text = _TEXT_OR_COMMENT.sub(_blanked, text)
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            is_comment = text.startswith(("/*", "//"), error.pos)
            what = "a comment" if is_comment else "this, or a comma before it,"
            why = f"{reader} cannot read {what} here, and so would run none of its hooks"
            self.fail(why, error.pos)

    def appended(self, box: Node, key: str | None, value: object) -> str:
        """Return the text with one more member or element, behind the others."""
        if not box.items:
            return self._filled(box, key, value)
        last, text = box.items[-1], self.text
        behind = last.value.end if last.comma is None else last.comma + 1
        rest = _REST_OF_LINE.match(text, behind)
        at = behind if rest is None else rest.end()
        gap = self._gap(box, len(box.items) - 1, on_own_line=bool(rest and rest[1]))
        added = gap + self._rendered(key, value, gap)
        if last.comma is None:
            return f"{text[:behind]},{text[behind:at]}{added}{text[at:]}"
        return f"{text[:at]}{added},{text[at:]}"

    def removed(self, box: Node, index: int) -> str:
        """Return the text without a member or an element; comments of others stay."""
        item, text = box.items[index], self.text
        end = item.value.end if item.comma is None else item.comma + 1
        before = self._end_before(box, index)
        start = _end_of_comments(text, before, item.start)
        if _would_swallow(text, before, start, end):
            start = item.start
        if item.comma is None and index:
            comma = before - 1
            return text[:comma] + text[before:start] + text[end:]
        return text[:start] + text[end:]

    def replaced(self, node: Node, value: object) -> str:
        """Return the text with another value in the place of one."""
        has_lines = _NEWLINE.search(self.text, node.start, node.end)
        gap = self._line_gap(node.start) if has_lines else ""
        return self.text[: node.start] + self._rendered(None, value, gap) + self.text[node.end :]

    def with_inner(self, box: Node, inner: str) -> str:
        """Return the text with something else between the brackets."""
        return self.text[: box.start + 1] + inner + self.text[box.end - 1 :]

    def _filled(self, box: Node, key: str | None, value: object) -> str:
        if self._is_on_one_line():
            return self.with_inner(box, self._rendered(key, value, "") + self.inner(box))
        outer = self._line_gap(box.start)
        gap = outer + self._unit()
        close = "" if _NEWLINE.search(self.inner(box)) else outer
        return self.with_inner(box, gap + self._rendered(key, value, gap) + close + self.inner(box))

    def _is_on_one_line(self) -> bool:
        root = self.root
        return bool(root.items) and not _NEWLINE.search(self.text, root.start, root.end)

    def _gap(self, box: Node, index: int, *, on_own_line: bool) -> str:
        """Return what stands before an item: what the next one is to have before it as well."""
        item = box.items[index]
        before = self.text[self._end_before(box, index) : item.start]
        if _NEWLINE.search(before) or on_own_line:
            return self._line_gap(item.start)
        return before[len(before.rstrip(_BLANK)) :]

    def _line_gap(self, at: int) -> str:
        """Return a line break, and the indentation of the line that a place is in."""
        start = max(self.text.rfind("\n", 0, at), self.text.rfind("\r", 0, at)) + 1
        line = self.text[start:at].removeprefix(_BYTE_ORDER_MARK)
        return self._newline() + line[: len(line) - len(line.lstrip(" \t"))]

    def _newline(self) -> str:
        found = _NEWLINE.search(self.text)
        return "\n" if found is None else found[0]

    def _unit(self) -> str:
        """Return what one level is indented by."""
        root = self.root
        if not root.items or not _NEWLINE.search(self.text, root.start, root.items[0].start):
            return _UNIT
        outer, inner = self._line_gap(root.start), self._line_gap(root.items[0].start)
        return inner.removeprefix(outer)

    def _rendered(self, key: str | None, value: object, gap: str) -> str:
        name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        return name + _rendered(value, gap, self._unit())

    def _end_before(self, box: Node, index: int) -> int:
        """Return where the bracket or the comma before an item ends."""
        if index == 0:
            return box.start + 1
        comma = box.items[index - 1].comma
        return box.start + 1 if comma is None else comma + 1

    def _whole(self) -> Node:
        start = self._skipped(len(_BYTE_ORDER_MARK) if self.text[:1] == _BYTE_ORDER_MARK else 0)
        root = self._node(start, 0)
        if (end := self._skipped(root.end)) != len(self.text):
            self.fail("something stands behind the end of the JSON", end)
        return root

    def _skipped(self, at: int) -> int:
        found = _TRIVIA.match(self.text, at)
        return at if found is None else found.end()

    def _node(self, at: int, depth: int) -> Node:
        opens = self.text[at : at + 1]
        if opens in _CLOSES:
            if depth == _DEEPEST:
                self.fail(f"this is nested more than {_DEEPEST} levels deep", at)
            return self._box(at, opens, depth)
        found = _SCALAR.match(self.text, at)
        if found is None:
            self.fail("no JSON: expected a value here", at)
        return Node(at, found.end(), "")

    def _box(self, start: int, opens: str, depth: int) -> Node:
        items: list[Item] = []
        at = self._skipped(start + 1)
        while self.text[at : at + 1] != _CLOSES[opens]:
            if items and items[-1].comma is None:
                self.fail(f"no JSON: expected `,` or `{_CLOSES[opens]}` here", at)
            item = self._item(at, opens, depth)
            items.append(item)
            at = self._skipped(item.value.end if item.comma is None else item.comma + 1)
        return Node(start, at + 1, opens, tuple(items))

    def _item(self, start: int, opens: str, depth: int) -> Item:
        key, at = self._key(start) if opens == "{" else (None, start)
        value = self._node(at, depth + 1)
        behind = self._skipped(value.end)
        return Item(start, key, value, behind if self.text[behind : behind + 1] == "," else None)

    def _key(self, at: int) -> tuple[str, int]:
        found = _SCALAR.match(self.text, at)
        if found is None or self.text[at] != '"':
            self.fail("no JSON: expected a name in quotes here", at)
        colon = self._skipped(found.end())
        if self.text[colon : colon + 1] != ":":
            self.fail("no JSON: expected `:` here", colon)
        return cast("str", json.loads(found[0])), self._skipped(colon + 1)


def _blanked(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else " " * len(found[0])


def _end_of_comments(text: str, start: int, end: int) -> int:
    found = list(_COMMENT.finditer(text, start, end))
    return found[-1].end() if found else start


def _would_swallow(text: str, before: int, start: int, end: int) -> bool:
    """Whether a comment to the end of its line would take in what stands behind the removed."""
    kept = list(_COMMENT.finditer(text, before, start))
    return bool(kept) and kept[-1][0].startswith("//") and text[end : end + 1] not in {"\r", "\n"}


def _rendered(value: object, gap: str, unit: str) -> str:
    """Return a value as text: on lines of their own where a gap is a line break, else on one."""
    if not _NEWLINE.search(gap):
        return json.dumps(value, ensure_ascii=False)
    deeper = gap + unit
    if isinstance(value, Mapping) and value:
        members = cast("Mapping[str, object]", value).items()
        parts = [f"{json.dumps(key)}: {_rendered(each, deeper, unit)}" for key, each in members]
        return "{" + deeper + f",{deeper}".join(parts) + gap + "}"
    elements = cast("list[object]", value) if isinstance(value, list) else []
    if any(isinstance(each, Mapping) for each in elements):
        parts = [_rendered(each, deeper, unit) for each in elements]
        return "[" + deeper + f",{deeper}".join(parts) + gap + "]"
    return json.dumps(value, ensure_ascii=False)
