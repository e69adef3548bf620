"""Which keys the user's file lets a project loosen."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from interlock.policy.config.key import Tighter
from interlock.policy.config.keys import KEY_BY_PATH, KEYS, SECTIONS
from interlock.policy.config.layer import Leaf
from interlock.policy.config.shapes import Budget, Entries
from interlock.policy.config.wording import joined, nearest

_TABLES = tuple(
    key.path
    for key in KEYS
    if isinstance(key.shape, Entries) and key.tighter is not Tighter.USER_ONLY
)
_BUDGETS = {key.path: key.shape.fields for key in KEYS if isinstance(key.shape, Budget)}
_LIMITS = tuple(f"{path}.{field.name}" for path, fields in _BUDGETS.items() for field in fields)
_SECTIONS = tuple(
    section
    for section in SECTIONS
    if any(key.section == section and key.tighter is not Tighter.USER_ONLY for key in KEYS)
)
_SEALED = tuple(key.path for key in KEYS if key.tighter is Tighter.USER_ONLY)


def permits(permissions: Iterable[str], leaf: Leaf) -> bool:
    """Tell whether one of the permissions covers the place."""
    return any(_covers(permission, leaf.path) for permission in permissions)


def permission_problem(text: str) -> str | None:
    """Return what is wrong with an entry of `project-may-loosen`, or nothing."""
    if any(f"{text}.".startswith(f"{sealed}.") for sealed in _SEALED):
        return "stands in the user's file only and cannot be left to a project"
    if text.endswith(".*"):
        return _prefix_problem(text.removesuffix(".*"))
    if text in _TABLES or text in _SECTIONS:
        return f"is a table; write `{text}.*` for everything in it"
    if text in KEY_BY_PATH or text in _LIMITS or _names_an_entry(text):
        return None
    close = nearest(text, (*KEY_BY_PATH, *_LIMITS))
    return "is not a key of the policy" + (f"; did you mean `{close}`?" if close else "")


def canonical_permission(text: str) -> str:
    """Return a valid permission spelt as paths are printed, however its entry was quoted."""
    for table in _TABLES:
        entry = text.removeprefix(f"{table}.")
        if entry not in (text, "*"):
            return joined(table, _unquoted(entry))
    return text


def _names_an_entry(text: str) -> bool:
    """Tell whether the text stands for an entry of a table that takes any name."""
    return any(text.startswith(f"{table}.") for table in _TABLES if table not in _BUDGETS)


def _covers(permission: str, path: str) -> bool:
    if permission.endswith(".*"):
        return path.startswith(permission.removesuffix("*"))
    return path == permission


def _prefix_problem(prefix: str) -> str | None:
    if prefix in _TABLES or prefix in _SECTIONS:
        return None
    close = nearest(prefix, (*_TABLES, *_SECTIONS))
    return "is not a table of the policy" + (f"; did you mean `{close}.*`?" if close else "")


def _unquoted(entry: str) -> str:
    if len(entry) > 1 and entry[0] == entry[-1] == "'":
        return entry[1:-1]
    try:
        return msgspec.json.decode(entry, type=str)
    except msgspec.MsgspecError:
        return entry
