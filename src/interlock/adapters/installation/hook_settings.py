"""The hooks in a client's settings: ours put in among the others, and taken out again.

Every client has `hooks` as an object with a list for each event. Most lists hold groups that have
`hooks` of their own; some hold the hooks themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

from interlock.adapters.installation.json_document import Item, JsonDocument, Node

_HOOKS: Final = "hooks"
_ENTRY: Final = re.compile(r"[/\\]interlock[/\\]hook_entry\.py\b")
_ROUTE: Final = "/hooks/claude-code"
_ATTENDED: Final = "Interlock-Attended"

Wanted = Mapping[str, Mapping[str, object]]
"""What is to stand in the list of each event."""


class FoundHook(NamedTuple):
    """A hook of ours, and where it stands."""

    event: str
    group: int
    """Which one of the list it stands in."""
    number: int
    """Which hook of its group it is."""
    hook: Mapping[str, object]
    entry: Mapping[str, object]
    """What stands in the list of the event: the hook itself, or its group."""


class _Spot(NamedTuple):
    """The boxes from the outermost one down to a hook, and which item of each leads to it."""

    boxes: tuple[tuple[Node, int], ...]
    event: str


def found_hooks(document: JsonDocument) -> list[FoundHook]:
    """Return every hook of ours, in the order of the file."""
    return [_found(document, each) for each in _spots(document)]


def with_hooks(text: str, place: str, wanted: Wanted) -> str:
    """Return settings in which exactly the wanted hooks are ours; a second time changes nothing."""
    for event, entry in wanted.items():
        text = _with_entry(text, place, event, entry)
    while gone := [s for s in _spots(JsonDocument(text, place)) if s.event not in wanted]:
        text = _without(JsonDocument(text, place), gone[-1], None)
    return text


def without_hooks(text: str, place: str, before: str | None, bare: object) -> str | None:
    """Return settings without any hook of ours; None where nothing else was ever in them.

    `before` is what stood there when the first was put in: lists that were empty then are left
    empty in the same way. `bare` is what a file of ours holds besides hooks.
    """
    document = JsonDocument(text, place)
    had = None if before is None or not before.strip("\ufeff \t\r\n") else before
    earlier = None if had is None else JsonDocument(had, f"{place} as it was")
    while spots := list(_spots(document)):
        document = JsonDocument(_without(document, spots[-1], earlier), place)
    if earlier is None and document.value(document.root) == bare and document.text != text:
        return None
    return document.text


def _with_entry(text: str, place: str, event: str, entry: Mapping[str, object]) -> str:
    document = JsonDocument(text, place)
    listed = _list_of(document, event)
    if listed is None:
        return _with_list(document, event, [dict(entry)])
    ours = [each for each in _spots(document) if each.event == event]
    found = [_found(document, each) for each in ours]
    if [each.entry for each in found] == [entry]:
        return text
    if len(ours) == 1 and _is_alone(ours[0]):
        box, index = ours[0].boxes[2]
        return document.replaced(box.items[index].value, entry)
    if ours:
        # Others share its group, or it is there twice: it goes, and comes back as it should be.
        index = ours[-1].boxes[-1]
        return _with_entry(document.removed(*index), place, event, entry)
    return document.appended(listed.value, None, entry)


def _with_list(document: JsonDocument, event: str, entries: list[object]) -> str:
    hooks = document.root.member(_HOOKS)
    if hooks is None:
        return document.appended(document.root, _HOOKS, {event: entries})
    return document.appended(hooks.value, event, entries)


def _list_of(document: JsonDocument, event: str) -> Item | None:
    """Return the list of an event, if there is one; InputError where that is something else."""
    if document.root.opens != "{":
        document.fail("the settings are no object", document.root.start)
    hooks = document.root.member(_HOOKS)
    if hooks is not None and hooks.value.opens != "{":
        document.fail("`hooks` is no object", hooks.start)
    listed = None if hooks is None else hooks.value.member(event)
    if listed is not None and listed.value.opens != "[":
        document.fail(f"the hooks of `{event}` are no list", listed.start)
    return listed


def _is_alone(spot: _Spot) -> bool:
    return all(len(box.items) == 1 for box, _ in spot.boxes[3:])


def _without(document: JsonDocument, spot: _Spot, earlier: JsonDocument | None) -> str:
    """Return the text without a hook, and without the boxes that were made for it."""
    depth = len(spot.boxes) - 1
    while depth and len(spot.boxes[depth][0].items) == 1 and not _box_in(earlier, spot, depth):
        depth -= 1
    box, index = spot.boxes[depth]
    text = document.removed(box, index)
    was = _box_in(earlier, spot, depth)
    if earlier is None or was is None or len(box.items) > 1:
        return text
    # A box that was empty is empty again, down to its blanks.
    emptied = JsonDocument(text, "")
    left, same = _box_at(emptied, spot, depth), earlier.inner(was)
    if left is None or emptied.inner(left).strip() != same.strip():
        return text
    return emptied.with_inner(left, same)


def _box_in(earlier: JsonDocument | None, spot: _Spot, depth: int) -> Node | None:
    return None if earlier is None else _box_at(earlier, spot, depth)


def _box_at(document: JsonDocument, spot: _Spot, depth: int) -> Node | None:
    """Return the box of a depth: the settings, their hooks, or the list of an event."""
    names = ((), (_HOOKS,), (_HOOKS, spot.event))
    if depth >= len(names):
        return None
    node = document.root
    for name in names[depth]:
        item = node.member(name)
        if item is None:
            return None
        node = item.value
    return node if node.opens else None


def _spots(document: JsonDocument) -> Iterator[_Spot]:
    root = document.root
    hooks = root.member(_HOOKS)
    if hooks is None:
        return
    outer = (root, root.items.index(hooks))
    for at, listed in enumerate(hooks.value.items):
        for group, entry in enumerate(listed.value.items):
            way = (outer, (hooks.value, at), (listed.value, group))
            own = entry.value.member(_HOOKS)
            if own is None:
                ways = [(way, entry)]
            else:
                ways = [((*way, (own.value, i)), each) for i, each in enumerate(own.value.items)]
            for boxes, each in ways:
                if _is_ours(document.value(each.value)):
                    yield _Spot(boxes, listed.key or "")


def _found(document: JsonDocument, spot: _Spot) -> FoundHook:
    (listed, group), (box, index) = spot.boxes[2], spot.boxes[-1]
    entry = document.value(listed.items[group].value)
    hook = document.value(box.items[index].value)
    return FoundHook(
        event=spot.event,
        group=group,
        number=index if len(spot.boxes) > 3 else 0,
        hook=cast("Mapping[str, object]", hook),
        entry=cast("Mapping[str, object]", entry),
    )


def _is_ours(hook: object) -> bool:
    """Whether a hook runs our entry, by whatever interpreter, or asks our server."""
    if not isinstance(hook, Mapping):
        return False
    told = cast("Mapping[str, object]", hook)
    words = json.dumps([told.get(each) for each in ("command", "args", "bash")])
    if _ENTRY.search(words):
        return True
    headers, url = told.get("headers"), told.get("url")
    is_route = isinstance(url, str) and url.endswith(_ROUTE)
    return is_route and isinstance(headers, dict) and _ATTENDED in headers
