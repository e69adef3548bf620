"""What a search through a call may bring to light, and the calls that need none.

Most calls say nothing but what is known of them without a search: a shell's line, a file that is
read, a text in place of another. Where that is so there is nothing else to look for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from interlock.commands.sql.graph_text import changed_fields
from interlock.policy.actions.calls.json_text import PLAIN, object_or_list
from interlock.policy.actions.calls.payload import Payload, is_patch
from interlock.policy.actions.calls.tool_vocabulary import Role

LONGEST_CODE: Final = 65_536
_MOST_ENTRIES: Final = 64
_COMMAND: Final = frozenset(("command",))
_FOLDER: Final = frozenset(("folder",))
_PATH: Final = frozenset(("path",))
_DATA: Final = frozenset(("data", "content", "old"))


class Found(NamedTuple):
    """What a search brought to light."""

    payloads: tuple[Payload, ...]
    """What is carried for certain."""
    guesses: tuple[Payload, ...]
    """What may be carried: it counts from its own `least` decision on."""
    is_opaque: bool
    """Whether the tool must show what it would do, and shows nothing that is understood."""
    is_excessive: bool
    """Whether there was more than anybody looks through."""
    twice: str | None
    """A key that stands twice in JSON inside of a text."""
    deleting: str | None = None
    """What a GraphQL document would delete, by the name of its field."""
    wiped: str = ""
    """What would be deleted that nobody can count, in a few words."""
    searches: tuple[Payload, ...] = ()
    """Commands that would search the same folders for the same."""
    failure: Exception | None = None
    """What broke the search."""


NOTHING: Final = Found((), (), is_opaque=False, is_excessive=False, twice=None)


def is_known_whole(
    params: Mapping[str, object],
    carried: Sequence[Payload],
    role: Role,
    kinds_of: Callable[[str], frozenset[str]],
) -> bool:
    """Whether the tool does one thing, and all that it is given for it is known.

    INVARIANT: a search would find nothing then. Where in doubt it is to be made.
    """
    expected = _COMMAND if role.runs else _PATH
    taken: list[str | None] = [each.command if role.runs else each.path for each in carried]
    is_known = not carried if role.reads else any(taken)
    if not is_known or not role.does_one_thing or len(params) > _MOST_ENTRIES:
        return False
    for name, value in params.items():
        if type(value) in PLAIN:
            continue
        kinds = kinds_of(str(name))
        is_data = bool(kinds) and kinds <= _DATA
        if not isinstance(value, str) or not (is_data or kinds in (expected, _FOLDER)):
            return False
        if kinds == expected and not role.reads:
            # One word may say what to do with the rest, and two lines may be meant together.
            if value not in taken or (role.runs and " " not in value):
                return False
            taken = []
        if not (is_data and role.writes) and _says_more(value):
            return False
    return True


def _says_more(text: str) -> bool:
    """Whether something else may stand in a text: JSON, a patch, or what changes data."""
    if len(text) > LONGEST_CODE:
        return True
    return object_or_list(text) is not None or is_patch(text) or bool(changed_fields(text))
