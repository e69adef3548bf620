"""Strategies for policy files: right ones, and ones that are almost right."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any, assert_never

from hypothesis import settings
from hypothesis import strategies as st

from interlock.policy import shapes
from interlock.policy.keys import KEYS, Key, Tighter
from interlock.policy.shapes import (
    Choice,
    Flag,
    NamedValues,
    NameKind,
    Number,
    Schemas,
    Tables,
    Text,
    TextKind,
    Texts,
)
from policy.files import DEFAULTS, KNOWN, toml

Document = dict[str, object]

unhurried = settings(deadline=None)
"""For laws that read several files each: what they cost is measured elsewhere."""

_NAMES = {
    NameKind.PACK: sorted(KNOWN.packs),
    NameKind.COMMAND_RULE: sorted(KNOWN.commands),
    NameKind.SECRET_RULE: sorted(KNOWN.secrets),
}
_WORDS = st.sampled_from(["a", "b", "c", "main", "build", "Bash", "mcp__*"])
_TABLES: dict[str, st.SearchStrategy[dict[str, object]]] = {
    "tools.carriers": st.fixed_dictionaries(
        {"tools": st.lists(_WORDS, min_size=1, max_size=3)},
        optional={
            "command": st.lists(_WORDS, max_size=2),
            "path": st.lists(_WORDS, max_size=2),
            "patch": st.lists(_WORDS, max_size=2),
        },
    ),
    "protected-paths.entries": st.fixed_dictionaries(
        {
            "path": st.sampled_from(["~/.ssh/**", "~/.bashrc", "a", "b"]),
            "decision": st.sampled_from(shapes.SWITCHABLE_OUTCOMES),
        },
        optional={"reason": _WORDS},
    ),
    "rules": st.fixed_dictionaries(
        {
            "id": st.sampled_from(["r", "s"]),
            "when": st.sampled_from(["true", "false"]),
            "decision": st.sampled_from(shapes.OUTCOMES),
            "message": _WORDS,
        },
        optional={"match": st.lists(_WORDS, max_size=2)},
    ),
}
_IDENTITIES: dict[str, Callable[[dict[str, object]], str]] = {
    "tools.carriers": str,
    "protected-paths.entries": lambda table: str(table["path"]),
    "rules": lambda table: str(table["id"]),
}


def _few_defaults() -> str:
    """Return defaults of the same shape with fewer entries, which are faster to read."""
    table = tomllib.loads(DEFAULTS)
    table["tools"]["carriers"] = [
        {**carrier, "tools": carrier["tools"][:2]} for carrier in table["tools"]["carriers"][:2]
    ]
    table["protected-paths"]["entries"] = [
        entry
        for entry in table["protected-paths"]["entries"]
        if entry["path"] in ("~/.ssh/**", "~/.bashrc")
    ]
    return toml(table)


FEW_DEFAULTS = _few_defaults()


def documents(*, for_project: bool = False) -> st.SearchStrategy[Document]:
    """Generate files that are right: any of the keys, each with a value that fits."""
    keys = [key for key in KEYS if not (for_project and key.tighter is Tighter.USER_ONLY)]
    chosen = st.fixed_dictionaries({}, optional={key.path: _values(key) for key in keys})
    return chosen.map(_nested)


def _nested(flat: dict[str, object]) -> Document:
    document: dict[str, Any] = {}
    for path, value in flat.items():
        section, _, name = path.rpartition(".")
        (document.setdefault(section, {}) if section else document)[name] = value
    return document


def _values(key: Key) -> st.SearchStrategy[object]:
    match key.shape:
        case Flag():
            return st.booleans()
        case Number() as shape:
            return st.integers(shape.minimum, shape.maximum)
        case Choice() as shape:
            return st.sampled_from(shape.values)
        case Text():
            return st.sampled_from(["", "k" * 32, "k" * 40])
        case Texts(kind=TextKind.KEY_PATH):
            return st.just([])
        case Texts():
            return st.lists(st.one_of(_WORDS, st.just("...")), max_size=4)
        case NamedValues() as shape:
            value = st.booleans() if isinstance(shape.value, Flag) else _choices(shape.value)
            return st.dictionaries(st.sampled_from(_NAMES[shape.names]), value)
        case Schemas():
            schemas = st.sampled_from([{}, {"type": "object"}, {"maxProperties": 2}])
            return st.dictionaries(_WORDS, schemas, max_size=2)
        case Tables():
            return st.lists(_TABLES[key.path], max_size=3, unique_by=_IDENTITIES[key.path])
        case _:
            assert_never(key.shape)


def _choices(shape: Choice) -> st.SearchStrategy[str]:
    return st.sampled_from(shape.values)
